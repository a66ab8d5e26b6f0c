typedef struct {
  int a;
  char c[5];
} S;
kernel void k(global int *a, int n) {
  S s[3];
  for (int j = 0; j < 3; j++) {
    s[j].a = a[j];
    s[j].c[n % 5] = a[j];
  }
  a[0] = s[n % 3].a + s[n % 3].c[2];
}
