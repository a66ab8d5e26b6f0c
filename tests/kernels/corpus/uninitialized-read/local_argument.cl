// The sum is taken over the whole group, but work-items past the data left their slot alone.
__kernel void group_sum(__global const int *in, __global int *out, __local int *part, const int count) {
  const int lid = get_local_id(0), i = get_global_id(0);
  if (i < count)
    part[lid] = in[i];
#ifdef CLEAN
  else
    part[lid] = 0;
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lid == 0) {
    int sum = 0;
    for (int n = 0; n < get_local_size(0); ++n)
      sum += part[n];
    out[get_group_id(0)] = sum;
  }
}
