// row * pitch leaves the range of int and comes back negative.
__kernel void pick_row(__global const uchar *table, __global uchar *out, const int pitch, const int first) {
  const int row = first + get_global_id(0);
#ifdef CLEAN
  const int at = (row - first) * 16;
#else
  const int at = row * pitch;
#endif
  out[get_global_id(0)] = table[at];
}
