// Work-items exchange values through global memory; the barrier only orders local memory.
__kernel void reverse(__global const int *in, __global int *scratch, __global int *out) {
  const int i = get_global_id(0), lid = get_local_id(0), last = get_local_size(0) - 1;
  scratch[i] = in[i];
#ifdef CLEAN
  barrier(CLK_GLOBAL_MEM_FENCE);
#else
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  out[i] = scratch[i - lid + last - lid];
}
