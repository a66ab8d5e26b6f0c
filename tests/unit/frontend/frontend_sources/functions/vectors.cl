int test_swizzle(int a, int b) {
  int4 v = (int4)(a, b, 3, 4);
  v.xz = v.wy;
  v.s1 += 5;
  v = v.wzyx * v;
  int8 w = (int8)(v, v + 1);
  return w.s0 + w.s3 * 3 + w.odd.x - w.hi.s2 + w.even.w;
}

int test_vec3(int a, int b) {
  int3 v = (int3)(a, b, 7);
  int3 w[2];
  w[a & 1] = v;
  w[1 - (a & 1)] = v.zxy;
  v = w[0] - w[1];
  return v.x + v.y * 5 + v.z;
}

int test_compare(int a, int b) {
  int4 v = (int4)(a, b, 0, 1);
  int4 m = v > (int4)(b, 0, a, 1);
  return m.x + m.y * 2 + m.z * 4 + (m & v).w;
}

int test_index(int a, int b) {
  int4 v = (int4)(1, 2, 3, 4);
  v[a & 3] = b;
  short8 s = 9;
  s[b & 7] = a;
  return v[b & 3] * 10 + s[a & 7];
}

int test_reinterpret(int a, int b) {
  uchar4 c = as_uchar4(a);
  c.x ^= b;
  float f = as_float(0x3f800000 | (b & 0xff));
  return as_int(c.zyxw) ^ as_int(f);
}
