__attribute__((reqd_work_group_size(128, 1, 1))) kernel void k(global float *a) {
  a[get_global_id(0)] = get_local_size(0);
}
