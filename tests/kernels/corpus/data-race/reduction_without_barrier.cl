// One barrier is missing in the loop of a tree reduction.
#define GROUP 8

__kernel void sum_group(__global const int *in, __global int *out) {
  __local int part[GROUP];
  const int lid = get_local_id(0);
  part[lid] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = GROUP / 2; step > 0; step >>= 1) {
    if (lid < step)
      part[lid] += part[lid + step];
#ifdef CLEAN
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
  if (lid == 0)
    out[get_group_id(0)] = part[0];
}
