// The tile is read before the asynchronous copy into it is waited for.
__kernel void through_tile(__global const int *in, __global int *out, __local int *tile) {
  const int lid = get_local_id(0), size = get_local_size(0);
  event_t copied = async_work_group_copy(tile, in + get_group_id(0) * size, size, 0);
#ifdef CLEAN
  wait_group_events(1, &copied);
  out[get_global_id(0)] = tile[lid];
#else
  out[get_global_id(0)] = tile[lid];
  wait_group_events(1, &copied);
#endif
}
