// What only the first work-item sets is used by all behind the barrier.
__kernel void offset_all(__global const int *in, __global int *out) {
  const int lid = get_local_id(0);
  int start;
#ifdef CLEAN
  start = in[0];
#else
  if (lid == 0)
    start = in[0];
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = in[get_global_id(0)] + start;
}
