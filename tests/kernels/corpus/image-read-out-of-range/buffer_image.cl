// Weights in an image1d_buffer, four floats a texel; the count is in floats.
__kernel void dot_weights(__read_only image1d_buffer_t weights, __global const float4 *in, __global float *out,
                          __private const int count) {
  float sum = 0.0f;
#ifdef CLEAN
  for (int i = 0; i < count / 4; ++i)
#else
  for (int i = 0; i < count; i += 2)
#endif
    sum += dot(read_imagef(weights, i), in[min(i, 1)]);
  out[get_global_id(0)] = sum;
}
