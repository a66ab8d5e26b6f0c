// Pairs of halves, one row of odd length after the other.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void store_pairs(__global half *out, const int width) {
  const int y = get_global_id(0);
  __global half *row = out + y * width;
#ifdef CLEAN
  vstore2((half2)(y, y + 1), 0, row);
#else
  *(__global half2 *)row = (half2)(y, y + 1);
#endif
}
