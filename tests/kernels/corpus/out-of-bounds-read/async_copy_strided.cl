// A column is fetched with a stride; the last row is not there.
#define TILE 4

__kernel void column_sum(__global const float *matrix, __global float *sums, const int width) {
  __local float column[TILE];
  const event_t done = async_work_group_strided_copy(column, matrix + get_group_id(0), TILE, width, 0);
  wait_group_events(1, (event_t *)&done);
  if (get_local_id(0) == 0)
    sums[get_group_id(0)] = column[0] + column[1] + column[2] + column[3];
}
