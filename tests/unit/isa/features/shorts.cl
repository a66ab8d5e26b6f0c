kernel void k(global short8 *a) {
  int i = get_global_id(0);
  a[i] = a[i] * a[i + 1] + (short8)(3);
}
