kernel void k(global const float *a, global float *b, global float4 *c, global int *d) {
  int i = get_global_id(0), n = get_global_size(0), e;
  float x = a[i], y = a[i + 1], s, w;
  b[i] = exp(x) + log(fabs(x)) + sin(x) + cos(y) + pow(fabs(x), y) + pown(x, 3) + tanh(x) + sqrt(fabs(y)) + cbrt(x);
  b[i + n] = fmod(x, y) + remainder(x, 0.7f) + ldexp(x, 5) + logb(y) + degrees(x) + hypot(x, y) + expm1(x) + log1p(fabs(x));
  b[i + 2 * n] = sincos(x, &s) + s + fract(y, &w) + w + modf(x, &s) + s + frexp(x, &e) + e;
  b[i + 3 * n] = atan(x) + atan2(x, y) + asin(x / 8) + acos(y / 8) + sinh(x) + cosh(y) + asinh(x) + atanh(x / 8) + erf(x / 16);
  float4 v = vload4(i, a);
  c[i] = normalize(v) + length(v) + distance(v, c[i + n]) + fast_length(v.xy);
  d[i] = ilogb(x);
}
