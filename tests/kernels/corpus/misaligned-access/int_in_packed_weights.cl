// Two bytes of scale stand before each block of four packed weights.
__kernel void unpack(__global const uchar *packed, __global int *out) {
  const int i = get_global_id(0);
  __global const uchar *block = packed + i * 6 + 2;
#ifdef CLEAN
  out[i] = as_int(vload4(0, block));
#else
  out[i] = *(__global const int *)block;
#endif
}
