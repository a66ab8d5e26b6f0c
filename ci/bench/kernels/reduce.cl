// Reductions of M rows of N elements.

#define TREE(scratch, item, combine) \
  barrier(CLK_LOCAL_MEM_FENCE); \
  for (int step = 128; step > 0; step >>= 1) { \
    if (item < step) { \
      scratch[item] = combine(scratch[item], scratch[item + step]); \
    } \
    barrier(CLK_LOCAL_MEM_FENCE); \
  }
#define SUM(a, b) ((a) + (b))

// A row a group of 256, with local memory given by the host.
kernel void sum_rows(global T *restrict y, global const T *restrict x, local ACC *scratch) {
  const int item = get_local_id(0);
  global const T *row = x + get_group_id(0) * N;
  ACC sum = 0;
  for (int i = item; i < N; i += 256) {
    sum += row[i];
  }
  scratch[item] = sum;
  TREE(scratch, item, SUM)
  if (item == 0) {
    y[get_group_id(0)] = scratch[0];
  }
}

// A column an item.
kernel void max_columns(global T *restrict y, global const T *restrict x) {
  const int column = get_global_id(0);
  if (column < N) {
    T most = x[column];
    for (int row = 1; row < M; ++row) {
      most = fmax(most, x[row * N + column]);
    }
    y[column] = most;
  }
}

// A row a group: largest, sum of exponentials, quotients.
kernel void softmax_rows(global T *restrict y, global const T *restrict x) {
  local ACC scratch[256];
  const int item = get_local_id(0);
  const int row = get_group_id(0) * N;
  ACC most = -INFINITY;
  for (int i = item; i < N; i += 256) {
    most = fmax(most, (ACC)x[row + i]);
  }
  scratch[item] = most;
  TREE(scratch, item, fmax)
  most = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  ACC sum = 0;
  for (int i = item; i < N; i += 256) {
    sum += exp((ACC)x[row + i] - most);
  }
  scratch[item] = sum;
  TREE(scratch, item, SUM)
  const ACC scale = 1 / scratch[0];
  for (int i = item; i < N; i += 256) {
    y[row + i] = exp((ACC)x[row + i] - most) * scale;
  }
}

// Down the columns, one an item: over channels of NCHW.
kernel void softmax_columns(global T *restrict y, global const T *restrict x) {
  const int column = get_global_id(0);
  if (column >= N) {
    return;
  }
  ACC most = -INFINITY;
  for (int i = 0; i < M; ++i) {
    most = fmax(most, (ACC)x[i * N + column]);
  }
  ACC sum = 0;
  for (int i = 0; i < M; ++i) {
    sum += exp((ACC)x[i * N + column] - most);
  }
  for (int i = 0; i < M; ++i) {
    y[i * N + column] = exp((ACC)x[i * N + column] - most) / sum;
  }
}

// A row a group: mean and variance in one pass, then scale and shift.
kernel void layer_norm(global T *restrict y, global const T *restrict x, global const T *restrict scale, global const T *restrict shift) {
  local ACC sums[256];
  local ACC squares[256];
  const int item = get_local_id(0);
  const int row = get_group_id(0) * N;
  ACC sum = 0, square = 0;
  for (int i = item; i < N; i += 256) {
    const ACC v = x[row + i];
    sum += v;
    square += v * v;
  }
  sums[item] = sum;
  squares[item] = square;
  TREE(sums, item, SUM)
  TREE(squares, item, SUM)
  const ACC mean = sums[0] / N;
  const ACC factor = rsqrt(squares[0] / N - mean * mean + 1e-5f);
  for (int i = item; i < N; i += 256) {
    y[row + i] = (x[row + i] - mean) * factor * scale[i] + shift[i];
  }
}
