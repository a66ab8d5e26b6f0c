kernel void k(global const short8 *a, global short8 *b) {
  int i = get_global_id(0);
  b[i] = a[i] * a[i + 1] + (short8)(3);
}
