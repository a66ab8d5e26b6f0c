// The loop steps by two and waits for an odd number.
__kernel void count_down(__global int *out, const int from) {
  int left = from;
#ifdef CLEAN
  while (left > 0)
#else
  while (left != 0)
#endif
    left -= 2;
  out[get_global_id(0)] = left;
}
