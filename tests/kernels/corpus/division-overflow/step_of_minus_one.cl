// Scales by a signed step; the lowest accumulator has no positive counterpart.
__kernel void rescale(__global const int2 *acc, __global const int2 *step, __global int2 *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = max(acc[i], (int2)(-INT_MAX)) / step[i];
#else
  out[i] = acc[i] / step[i];
#endif
}
