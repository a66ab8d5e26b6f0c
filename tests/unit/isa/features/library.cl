kernel void k(global const float4 *a, global float *b, global const int *c, global int *d) {
  int i = get_global_id(0);
  b[i] = dot(a[i], a[i + 1]) + fmin(a[i].y, a[i].z) + native_exp(a[i].x);
  d[i] = mul24(c[i], c[i + 1]) + clz(c[i + 2]) + popcount(c[i + 3]) + mul_hi(c[i] << 20, c[i + 4] << 20);
}
