typedef struct {
  int a;
  char c[5];
} S;
kernel void k(global const int *a, global int *b, int n) {
  S s[3];
  for (int j = 0; j < 3; j++) {
    s[j].a = a[j + get_global_id(0)];
    s[j].c[n % 5] = a[j];
  }
  b[get_global_id(0)] = s[n % 3].a + s[n % 3].c[2];
}
