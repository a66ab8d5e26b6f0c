kernel void k(global float16 *a, int n) {
  int i = get_global_id(0);
  float16 x = a[i];
  x.s3 = x[n & 15];
  a[i] = x.s0123456789abcdef;
}
