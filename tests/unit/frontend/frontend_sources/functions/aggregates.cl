typedef struct {
  char c;
  int v[3];
  struct {
    short s;
    long l;
  } in;
} S;
typedef struct __attribute__((packed)) {
  char c;
  int i;
  short s;
} P;
typedef union {
  int i;
  uchar4 c;
  float f;
} U;
__constant int table[2][3] = {{1, 2, 3}, {40, 50, 60}};
__constant struct {
  char tag;
  short s[2];
} meta = {3, {-4, 5}};
S make(int a) {
  S s;
  s.c = a;
  s.v[0] = a;
  s.v[1] = a * 2;
  s.v[2] = a * 3;
  s.in.s = a;
  s.in.l = (long)a << 33;
  return s;
}

int sum(S s) {
  s.v[1]++;
  return s.c + s.v[0] + s.v[1] + s.v[2] + s.in.s + (int)(s.in.l >> 32);
}

int test_struct(int a, int b) {
  S s = make(a), t = s;
  t.v[b & 1] = b;
  return sum(s) + 3 * sum(t) + s.v[1];
}

int test_packed(int a, int b) {
  P p[2];
  p[0].c = a;
  p[0].i = b;
  p[0].s = a;
  p[1] = p[0];
  p[1].i++;
  return p[1].i + p[1].s * p[1].c + (int)sizeof(P);
}

int test_union(int a, int b) {
  U u;
  u.i = a;
  u.c.y = b;
  return u.i + u.c.w;
}

int test_table(int a, int b) {
  __constant int *row = table[a & 1];
  return row[b & 1] + meta.s[a & 1] * meta.tag + table[1][2];
}

int test_array(int a, int b) {
  int m[2][3] = {{1, 2}, {a}};
  m[b & 1][a & 1] += 5;
  int s = 0;
  for (int i = 0; i < 6; i++) s = s * 3 + m[i / 3][i % 3];
  return s;
}
