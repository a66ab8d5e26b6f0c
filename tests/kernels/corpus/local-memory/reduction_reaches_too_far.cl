// The first step of a tree reduction starts at the group size, not at half of it.
#define GROUP 16

__kernel void sum_group(__global const int *in, __global int *out) {
  __local int part[GROUP];
  const int lid = get_local_id(0);
  part[lid] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
#ifdef CLEAN
  for (int step = GROUP / 2; step > 0; step >>= 1) {
#else
  for (int step = GROUP; step > 0; step >>= 1) {
#endif
    if (lid < step)
      part[lid] += part[lid + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lid == 0)
    out[get_group_id(0)] = part[0];
}
