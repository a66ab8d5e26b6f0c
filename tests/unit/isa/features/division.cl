kernel void k(global const int *a, global int *b) {
  int i = get_global_id(0);
  b[i] = a[i] / a[i + 1] + (a[i + 2] - 50) % 7;
}
