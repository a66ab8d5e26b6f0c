// The host asks for one float per two work-items.
__kernel void reverse_group(__global float *data, __local float *scratch) {
  const int lid = get_local_id(0);
  const int last = get_local_size(0) - 1;
  scratch[lid] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = scratch[last - lid];
}
