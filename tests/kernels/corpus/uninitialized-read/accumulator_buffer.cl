// Partial sums are added to a buffer that nobody cleared.
__kernel void add_part(__global const float *part, __global float *sum) {
  const int i = get_global_id(0);
#ifdef CLEAN
  sum[i] = part[i];
#else
  sum[i] += part[i];
#endif
}
