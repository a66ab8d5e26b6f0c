kernel void k(global const char *a, global char *b) {
  int i = get_global_id(0);
  b[i] = a[i] * a[i + 1] + (a[i] >> 2) - b[i] / 3;
}
