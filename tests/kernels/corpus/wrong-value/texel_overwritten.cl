// Each of four work-items writes a whole texel to set its own channel: the last one wins.
__kernel void pack_channels(__global const float *in, __write_only image2d_t out) {
  const int x = get_global_id(0);
#ifdef CLEAN
  write_imagef(out, (int2)(x, 0), vload4(x, in));
#else
  for (int c = 0; c < 4; ++c) {
    float4 texel = (float4)(0.0f);
    if (c == 0) texel.x = in[4 * x];
    if (c == 1) texel.y = in[4 * x + 1];
    if (c == 2) texel.z = in[4 * x + 2];
    if (c == 3) texel.w = in[4 * x + 3];
    write_imagef(out, (int2)(x, 0), texel);
  }
#endif
}
