kernel void k(global const float *a, global float *b, global const int2 *c, global int2 *d) {
  local float t[64];
  local int2 u[32];
  event_t e = async_work_group_copy(t, a, 64, 0);
  e = async_work_group_strided_copy(u, c, 32, 3, e);
  wait_group_events(1, &e);
  int l = get_local_id(0);
  if (!get_group_id(0)) b[l] = t[63 - l];
  if (!get_group_id(0)) d[l & 31] = u[31 - (l & 31)];
}
