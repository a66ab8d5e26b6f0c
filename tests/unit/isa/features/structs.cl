typedef struct {
  char a, e;
  short b;
  int c;
  float d[3];
} S;
kernel void k(global const S *a, global S *b, S s) {
  int i = get_global_id(0);
  s.d[1] += a[i].b;
  b[i + 1] = s;
}
