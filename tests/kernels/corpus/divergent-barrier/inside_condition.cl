// Only the work-items with data wait.
__kernel void rotate(__global const int *in, __global int *out, __local int *tile, const int count) {
  const int lid = get_local_id(0);
#ifdef CLEAN
  if (lid < count)
    tile[lid] = in[lid];
  barrier(CLK_LOCAL_MEM_FENCE);
#else
  if (lid < count) {
    tile[lid] = in[lid];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif
  if (lid < count)
    out[lid] = tile[(lid + 1) % count];
}
