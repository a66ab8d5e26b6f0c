// Averages each element of a row with its neighbours; at the ends, the row goes on with its last element.
kernel void blur(global float *restrict y, global const float *restrict x, int n) {
  int i = get_global_id(0);
  if (i < n) {
    y[i] = (x[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)]) / 3;
  }
}
