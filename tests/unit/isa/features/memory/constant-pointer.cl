constant float T[8] = {1, 2, 3, 4, 5, 6, 7, 8};
constant int U[2][3] = {{10, 20, 30}, {40, 50, 60}};
constant uchar4 V[3] = {(uchar4)(1, 2, 3, 4), (uchar4)(5, 6, 7, 8), (uchar4)(9, 10, 11, 12)};
kernel void k(global float *a, global int *b, int n) {
  int i = get_global_id(0), s = 0;
  constant float *p = i & 1 ? T + n - 2 : T;
  a[i] = p[i & 3] + T[5];
  for (int j = 0; j < 3; j++) s += U[i & 1][j] * (U[0] + 1)[j & 1];
  b[i] = s + V[i % 3].z + vload2(1, (constant uchar *)V + (i & 3)).y;
}
