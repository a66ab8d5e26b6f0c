// The second round overwrites the tile while others still read the first.
__kernel void two_rounds(__global const int *in, __global int *out, __local int *tile) {
  const int lid = get_local_id(0), size = get_local_size(0);
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    tile[lid] = in[round * size + lid];
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += tile[(lid + 1) % size];
#ifdef CLEAN
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
  out[lid] = sum;
}
