// Averages with the number of valid taps, which is 0 in a padded corner.
__kernel void average(__global const int4 *sum, __global const int4 *taps, __global int4 *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = sum[i] / max(taps[i], 1);
#else
  out[i] = sum[i] / taps[i];
#endif
}
