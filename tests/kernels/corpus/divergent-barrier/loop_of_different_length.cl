// Each work-item loops as often as its own row is long.
__kernel void rows(__global const int *lengths, __global int *out) {
  __local int turn;
  const int lid = get_local_id(0);
  int seen = 0;
#ifdef CLEAN
  const int trips = 4;
#else
  const int trips = lengths[lid];
#endif
  for (int i = 0; i < trips; ++i) {
    if (lid == 0)
      turn = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (turn < lengths[lid])
      seen++;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[lid] = seen;
}
