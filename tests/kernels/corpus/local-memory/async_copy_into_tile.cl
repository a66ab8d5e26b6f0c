// The copy brings one row more than the tile has.
#define TILE_H 2
#define TILE_W 4
#ifdef CLEAN
#define ROWS TILE_H
#else
#define ROWS (TILE_H + 1)
#endif

__kernel void load_tile(__global const float *in, __global float *out) {
  __local float tile[TILE_H * TILE_W];
  event_t done = async_work_group_copy(tile, in, ROWS * TILE_W, 0);
  wait_group_events(1, &done);
  out[get_global_id(0)] = tile[get_local_id(0)];
}
