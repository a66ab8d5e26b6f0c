// A running sum that writes back to the slot before its first.
__kernel void shift_left(__global int *data, const int count) {
  const int i = get_global_id(0);
#ifdef CLEAN
  if (i > 0)
#endif
    data[i - 1] = i;
}
