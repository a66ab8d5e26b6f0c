int add(int *p, int d) {
  *p += d;
  return *p;
}

int early(int a, int b) {
  if (a > b) return a - b;
  if (a == 3) {
    while (b > 0) {
      b -= 7;
      if (b == 2) return 77;
    }
  }
  return b;
}

void swap(int *a, int *b) {
  int t = *a;
  *a = *b;
  *b = t;
}

int twice(int a) {
  return early(a, 1) + early(1, a);
}

int test_pointer(int a, int b) {
  int x = a;
  add(&x, b);
  add(&x, 1);
  return x + add(&b, a);
}

int test_early(int a, int b) {
  int s = 0;
  for (int i = 0; i < 3; i++) s += early(a & 15, i) * (b & 3) + twice(i);
  return s + (b ? early(b, 2) : early(2, a));
}

int test_swap(int a, int b) {
  int v[3] = {a, b, 5};
  swap(v, v + 1);
  swap(&v[1], &v[2]);
  return v[0] * 7 + v[1] * 3 + v[2];
}

int test_which(int a, int b) {
  int x = 1, y = 2;
  int *p = a > b ? &x : &y;
  *p += 10;
  return x * 100 + y;
}
