// Transposes a matrix of float, TILE x TILE elements in each work-group; the column of padding keeps banks apart.
kernel void transpose(global float *restrict y, global const float *restrict x, int rows, int columns) {
  local float tile[TILE][TILE + 1];
  int column = get_global_id(0), row = get_global_id(1);
  int u = get_local_id(0), v = get_local_id(1);
  if (row < rows && column < columns) {
    tile[v][u] = x[row * columns + column];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int to_row = get_group_id(0) * TILE + v, to_column = get_group_id(1) * TILE + u;
  if (to_row < columns && to_column < rows) {
    y[to_row * rows + to_column] = tile[u][v];
  }
}
