// y (M x N) = a (M x K) b (K x N), row-major.

// Tiles of 16 x 16 through local memory, one output an item.
kernel void matmul_local(global T *restrict y, global const T *restrict a, global const T *restrict b) {
  local T left[16][16];
  local T right[16][16];
  const int lx = get_local_id(0), ly = get_local_id(1);
  const int column = get_global_id(0), row = get_global_id(1);
  ACC sum = 0;
  for (int k = 0; k < K; k += 16) {
    left[ly][lx] = a[row * K + k + lx];
    right[ly][lx] = b[(k + ly) * N + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 16; ++i) {
      sum += (ACC)left[ly][i] * (ACC)right[i][lx];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  y[row * N + column] = sum;
}

// 4 x 4 outputs an item, in registers.
kernel void matmul_registers(global T *restrict y, global const T *restrict a, global const T *restrict b) {
  const int column = get_global_id(0) * 4, row = get_global_id(1) * 4;
  ACC4 s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int k = 0; k < K; ++k) {
    const ACC4 v = TO_ACC4(vload4(0, b + k * N + column));
    s0 += v * (ACC)a[row * K + k];
    s1 += v * (ACC)a[(row + 1) * K + k];
    s2 += v * (ACC)a[(row + 2) * K + k];
    s3 += v * (ACC)a[(row + 3) * K + k];
  }
  vstore4(TO_T4(s0), 0, y + row * N + column);
  vstore4(TO_T4(s1), 0, y + (row + 1) * N + column);
  vstore4(TO_T4(s2), 0, y + (row + 2) * N + column);
  vstore4(TO_T4(s3), 0, y + (row + 3) * N + column);
}

// The same from textures of K/4 and N/4 texels a row, to a texture.
kernel void matmul_texture(write_only image2d_t y, read_only image2d_t a, read_only image2d_t b) {
  const int column = get_global_id(0), row = get_global_id(1) * 2;
  T4 s0 = 0, s1 = 0;
  for (int k = 0; k < K / 4; ++k) {
    const T4 a0 = READ(a, (int2)(k, row));
    const T4 a1 = READ(a, (int2)(k, row + 1));
    const T4 b0 = READ(b, (int2)(column, k * 4));
    const T4 b1 = READ(b, (int2)(column, k * 4 + 1));
    const T4 b2 = READ(b, (int2)(column, k * 4 + 2));
    const T4 b3 = READ(b, (int2)(column, k * 4 + 3));
    s0 = mad(a0.x, b0, mad(a0.y, b1, mad(a0.z, b2, mad(a0.w, b3, s0))));
    s1 = mad(a1.x, b0, mad(a1.y, b1, mad(a1.z, b2, mad(a1.w, b3, s1))));
  }
  WRITE(y, (int2)(column, row), s0);
  WRITE(y, (int2)(column, row + 1), s1);
}

// One row of a: each output by a group of 64 over K, b given as N x K.
kernel void matvec_tree(global T *restrict y, global T *restrict a, global T *restrict b) {
  local ACC red_buf0_ptr[64];
  ACC in_thread_ptr[1];
  in_thread_ptr[0] = (ACC)0;
  for (int k_0 = 0; k_0 < (K / 256); ++k_0) {
    ACC4 p = TO_ACC4(vload4(0, a + (k_0 * 256) + (convert_int(get_local_id(0)) * 4)))
        * TO_ACC4(vload4(0, b + (convert_int(get_group_id(0)) * K) + (k_0 * 256) + (convert_int(get_local_id(0)) * 4)));
    in_thread_ptr[0] = in_thread_ptr[0] + (p.s0 + p.s1 + p.s2 + p.s3);
  }
  red_buf0_ptr[convert_int(get_local_id(0))] = in_thread_ptr[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 32; step > 0; step >>= 1) {
    if (convert_int(get_local_id(0)) < step) {
      red_buf0_ptr[convert_int(get_local_id(0))] += red_buf0_ptr[convert_int(get_local_id(0)) + step];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (convert_int(get_local_id(0)) == 0) {
    y[convert_int(get_group_id(0))] = red_buf0_ptr[0];
  }
}
