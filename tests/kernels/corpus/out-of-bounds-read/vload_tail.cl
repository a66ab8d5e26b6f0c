// Four elements a work-item; the count is no multiple of four.
__kernel void relu_vec4(__global const float *input, __global float *output, const int count) {
  const int pos = get_global_id(0) << 2;
#ifdef CLEAN
  if (pos + 3 < count) {
    vstore4(fmax(vload4(0, input + pos), (float4)0.0f), 0, output + pos);
  } else {
    for (int i = pos; i < count; ++i)
      output[i] = fmax(input[i], 0.0f);
  }
#else
  const float4 value = vload4(0, input + pos);
  const float lane[4] = {value.x, value.y, value.z, value.w};
  for (int i = 0; i < 4 && pos + i < count; ++i)
    output[pos + i] = fmax(lane[i], 0.0f);
#endif
}
