kernel void k(global const int *a, global int *b, int n) {
  int i = get_global_id(0);
  int t[8], u[8];
  for (int j = 0; j < 8; j++) {
    t[j] = a[j];
    u[j] = a[j + 8];
  }
  private int *p = a[i] > 30 ? t : u;
  b[i] = p[n & 7];
}
