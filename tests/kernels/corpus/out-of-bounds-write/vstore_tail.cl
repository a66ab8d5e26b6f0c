// The tail store writes a whole vector.
__kernel void copy_vec8(__global const char *in, __global char *out, const int count) {
  const int i = get_global_id(0);
  char8 value = (char8)0;
  if (8 * i + 8 <= count)
    value = vload8(i, in);
#ifdef CLEAN
  else
    return;
#endif
  vstore8(value, i, out);
}
