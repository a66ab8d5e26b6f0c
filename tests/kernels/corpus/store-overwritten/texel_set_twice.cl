// A texel may get a first value that a condition replaces; here it is replaced in any case.
__kernel void positive(__global const float *in, __write_only image2d_t out) {
  const int x = get_global_id(0);
  write_imagef(out, (int2)(x, 0), (float4)(-1.0f));
#ifdef CLEAN
  if (in[x] > 0.0f)
#endif
    write_imagef(out, (int2)(x, 0), (float4)(in[x]));
}
