// Divides by a constant -1, and by a divisor that is 0 for one work-item: two defects in two lines.
__kernel void negate(__global const long *in, __global const long *by, __global long *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = (in[i] == LONG_MIN ? LONG_MAX : -in[i]) / max(by[i], 1L);
#else
  const long negative = in[i] / -1;
  out[i] = negative / by[i];
#endif
}
