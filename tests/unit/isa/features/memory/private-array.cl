kernel void k(global const int *a, global int *b, int n) {
  int i = get_global_id(0);
  float t[16];
  for (int j = 0; j < 16; j++) t[j] = a[i + j];
  b[i] = t[n & 15];
}
