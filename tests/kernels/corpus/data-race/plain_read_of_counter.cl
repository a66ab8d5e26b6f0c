// Everybody counts with an atomic, and reads the counter without one.
__kernel void tickets(__global const int *in, __global int *out) {
  __local int taken;
  const int lid = get_local_id(0);
  if (lid == 0)
    taken = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (in[get_global_id(0)] > 3)
    atomic_inc(&taken);
#ifdef CLEAN
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  out[get_global_id(0)] = taken;
}
