kernel void k(global int *a, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
      if (a[j] > i) goto out;
      if (a[j] == 7) continue;
      s += a[j];
    }
  }
  out: a[0] = s;
}
