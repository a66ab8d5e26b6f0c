// Both branches wait, but not at the same barrier.
__kernel void exchange(__global int *data, __local int *box) {
  const int lid = get_local_id(0);
  box[lid] = data[lid];
#ifdef CLEAN
  barrier(CLK_LOCAL_MEM_FENCE);
  data[lid] = (lid & 1) ? box[lid - 1] : -box[lid + 1];
#else
  if (lid & 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    data[lid] = box[lid - 1];
  } else {
    barrier(CLK_LOCAL_MEM_FENCE);
    data[lid] = -box[lid + 1];
  }
#endif
}
