typedef struct {
  char a;
  short b;
  int c;
  float d[3];
} S;
kernel void k(global S *a, S s) {
  int i = get_global_id(0);
  s.d[1] += a[i].b;
  a[i + 1] = s;
}
