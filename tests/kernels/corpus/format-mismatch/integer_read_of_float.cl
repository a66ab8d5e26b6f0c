// read_imagei on a float image.
__kernel void round_texels(__read_only image2d_t in, __global int *out) {
  const int x = get_global_id(0);
#ifdef CLEAN
  out[x] = convert_int_rte(read_imagef(in, (int2)(x, 0)).x);
#else
  out[x] = read_imagei(in, (int2)(x, 0)).x;
#endif
}
