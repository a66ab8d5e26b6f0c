kernel void k(global float4 *a, global int *b) {
  int i = get_global_id(0);
  a[i].x = dot(a[i], a[i + 1]) + fmin(a[i].y, a[i].z) + native_exp(a[i].x);
  b[i] = mul24(b[i], b[i + 1]) + clz(b[i + 2]) + popcount(b[i + 3]) + mul_hi(b[i], b[i + 4]);
}
