// a loop with two ways in
kernel void k(global int *a, int n) {
  int i = get_global_id(0);
  int x = 0;
  if (a[i] > 3) goto B;
  A: x += a[i + 1];
  if (x > 100) goto E;
  B: x += a[i + 2];
  if (x < n) goto A;
  E: a[i] = x;
}
