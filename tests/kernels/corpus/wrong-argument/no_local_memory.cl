// Local memory of size 0 for a kernel that uses it.
__kernel void swap_pairs(__global int *data, __local int *box) {
  const int lid = get_local_id(0);
  box[lid] = data[lid];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[lid] = box[lid ^ 1];
}
