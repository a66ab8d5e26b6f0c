kernel void k(global const char *a, global char *b, global const short8 *c, global short8 *d) {
  int i = get_global_id(0);
  b[i] = a[i] * a[i + 1] + (a[i] >> 2) - b[i] / 3;
  d[i] = c[i] * c[i + 1] + (short8)(3);
}
