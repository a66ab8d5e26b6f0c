// The first row of a tile, whose address is that of the tile: the defect fills one element more than the row has.
__kernel void fill(__global float *out, int n) {
  __local float tile[2][4];
  const int l = get_local_id(0);
  tile[1][l] = 5.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0)
    for (int i = 0; i < n; ++i)
      tile[0][i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[l] = tile[0][l] + tile[1][l];
}
