// async_work_group_copy
kernel void k(global float *a) {
  local float t[64];
  event_t e = async_work_group_copy(t, a, 64, 0);
  wait_group_events(1, &e);
  a[1] = t[get_local_id(0)];
}
