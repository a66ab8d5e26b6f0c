// Four work-items write one texel, each with its own channel set.
__kernel void pack(__global const float *in, __write_only image2d_t out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  if ((i & 3) == 0)
    write_imagef(out, (int2)(i / 4, 0), vload4(i / 4, in));
#else
  float4 texel = (float4)(0.0f);
  if ((i & 3) == 0) texel.x = in[i];
  if ((i & 3) == 1) texel.y = in[i];
  if ((i & 3) == 2) texel.z = in[i];
  if ((i & 3) == 3) texel.w = in[i];
  write_imagef(out, (int2)(i / 4, 0), texel);
#endif
}
