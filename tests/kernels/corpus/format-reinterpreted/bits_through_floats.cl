// 32-bit integers pass through a float image bit for bit; the integer function on it is undefined all the same.
__kernel void store_indices(__global const int4 *index, __write_only image2d_t dst) {
  const int x = get_global_id(0);
#ifdef CLEAN
  write_imagef(dst, (int2)(x, 0), as_float4(index[x]));
#else
  write_imagei(dst, (int2)(x, 0), index[x]);
#endif
}
