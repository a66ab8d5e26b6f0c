// The tile in local memory has room for the group, not for the halo of the filter.
#define GROUP 8
#define RADIUS 1
#ifdef CLEAN
#define TILE (GROUP + 2 * RADIUS)
#else
#define TILE GROUP
#endif

__kernel void box3(__global const float *in, __global float *out, const int width) {
  __local float tile[TILE];
  const int lid = get_local_id(0);
  const int x = get_global_id(0);
  const int start = get_group_id(0) * GROUP - RADIUS;
  for (int i = lid; i < GROUP + 2 * RADIUS; i += GROUP)
    tile[i] = in[clamp(start + i, 0, width - 1)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[x] = tile[lid] + tile[lid + 1] + tile[lid + 2];
}
