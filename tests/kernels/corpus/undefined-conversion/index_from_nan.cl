// Looks a value up by a computed position; 0/0 gives no number, and no integer.
__kernel void lookup(__global const float *x, __global const float *range, __global const int *table, __global int *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  const float at = range[i] > 0.0f ? x[i] / range[i] * 3.0f : 0.0f;
#else
  const float at = x[i] / range[i] * 3.0f;
#endif
  out[i] = table[clamp((int)at, 0, 3)];
}
