kernel void k(global const float *a, global float *b) {
  int i = get_global_id(0);
  b[i] = sub_group_reduce_add(a[i]) + sub_group_broadcast(a[i], 3) + get_sub_group_local_id() + sub_group_all(a[i] > 0);
}
