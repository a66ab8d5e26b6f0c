kernel void k(global int *a) {
  int i = get_global_id(0);
  a[i] = a[i] / a[i + 1] + a[i + 2] % 7;
}
