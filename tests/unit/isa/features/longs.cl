kernel void k(global long *a, global float *b) {
  int i = get_global_id(0);
  a[i] = a[i] * 5 - (a[i + 1] >> 3);
  b[i] = a[i];
}
