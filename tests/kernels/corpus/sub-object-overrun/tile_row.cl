// Transposes through a local tile. The loop over a column is one too long: it reads the first element of the next row.
#define N 4

__kernel __attribute__((reqd_work_group_size(N, 1, 1))) void column_sums(__global const float *in, __global float *out) {
  __local float tile[N + 1][N];
  const int x = get_local_id(0);
  for (int y = 0; y < N; ++y)
    tile[y][x] = in[y * N + x];
  tile[N][x] = 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
#ifdef CLEAN
  for (int i = 0; i < N; ++i)
#else
  for (int i = 0; i <= N; ++i)
#endif
    sum += tile[x][i];
  out[x] = sum;
}
