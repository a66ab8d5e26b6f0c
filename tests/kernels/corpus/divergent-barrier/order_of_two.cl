// Both branches wait twice, at barriers of their own: as many, but not the same.
__kernel void ping_pong(__global int *data, __local int *box) {
  const int lid = get_local_id(0);
#ifdef CLEAN
  box[lid] = data[lid];
  barrier(CLK_LOCAL_MEM_FENCE);
  const int other = box[lid ^ 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[lid] = other;
#else
  if (lid < 2) {
    box[lid] = data[lid];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[lid] = box[lid + 2];
    barrier(CLK_LOCAL_MEM_FENCE);
  } else {
    box[lid] = -data[lid];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[lid] = box[lid - 2];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif
}
