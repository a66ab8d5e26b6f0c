kernel void k(global const long *a, global long *b, global float *c) {
  int i = get_global_id(0);
  b[i] = a[i] * 5 - (a[i + 1] >> 3);
  c[i] = a[i];
}
