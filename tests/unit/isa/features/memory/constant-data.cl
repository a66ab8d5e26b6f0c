constant float T[8] = {1, 2, 3, 4, 5, 6, 7, 8};
kernel void k(global float *a) {
  int i = get_global_id(0);
  a[i] = T[i & 7];
}
