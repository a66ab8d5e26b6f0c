kernel void k(global const int *a, global int *b, int n) {
  int s = get_global_id(0);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
      if (a[j] > i) goto out;
      if (a[j] == 7) continue;
      s += a[j];
    }
  }
  out: b[get_global_id(0)] = s;
}
