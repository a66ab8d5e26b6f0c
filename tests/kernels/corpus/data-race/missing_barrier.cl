// The tile is read before the group has filled it.
__kernel void reverse(__global const int *in, __global int *out, __local int *tile) {
  const int lid = get_local_id(0), last = get_local_size(0) - 1;
  tile[lid] = in[get_global_id(0)];
#ifdef CLEAN
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  out[get_global_id(0)] = tile[last - lid];
}
