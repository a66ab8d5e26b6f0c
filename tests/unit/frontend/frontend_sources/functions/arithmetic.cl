int test_narrow(int a, int b) {
  char c = a;
  uchar u = b;
  short s = c * u;
  ushort t = s >> 1;
  c += t;
  return c ^ (s << 3) ^ t;
}

int test_long(int a, int b) {
  long x = (long)a * b;
  ulong y = (uint)b;
  y <<= 17;
  return (int)(x >> 7) ^ (int)(y % 1000003) ^ (int)(x / ((a & 255) + 1));
}

int test_shift(int a, int b) {
  return (a << b) ^ (a >> b) ^ (int)((uint)a >> (b + 3));
}

int test_divide(int a, int b) {
  int d = (b | 1) & 0xffff;
  return a / d * 3 + a % d + (int)((uint)a / (uint)d);
}

int test_logic(int a, int b) {
  bool x = a > 3 && b < 7 || !a;
  x |= b == 9;
  return x ? a && b : (a || b) + 2;
}

int test_float(int a, int b) {
  float x = (a & 1023) * 0.5f, y = -(float)(b & 63);
  float z = x > y ? x * y : x - y;
  return (int)(z + 0.25f) + (x == 2.0f);
}
