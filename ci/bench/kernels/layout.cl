// Layout transforms and elementwise kernels. C: channels; H, W: extents.

kernel void pack_buffer(global T *restrict y, global T *restrict x) {
  int cse_v1 = ((convert_int(get_group_id(0)) * 256) + convert_int(get_local_id(0)));
  if (cse_v1 < (C * H * W)) {
    y[cse_v1] = x[((((cse_v1 / (4 * H * W)) * 4) + (cse_v1 % 4)) * (H * W)) + ((cse_v1 % (4 * H * W)) / 4)];
  }
}

kernel void pack_texture(write_only image2d_array_t y, global T *restrict x) {
  int pixel = ((convert_int(get_group_id(0)) * 64) + convert_int(get_local_id(0)));
  int block = convert_int(get_group_id(1));
  if (pixel < (H * W)) {
    T4 v_ = ((T4)(x[((block * 4) * (H * W)) + pixel], x[(((block * 4) + 1) * (H * W)) + pixel],
                  x[(((block * 4) + 2) * (H * W)) + pixel], x[(((block * 4) + 3) * (H * W)) + pixel]));
    WRITE(y, (int4)(pixel, block, 0, 0), v_);
  }
}

kernel void unpack_texture(global T *restrict y, read_only image2d_array_t x) {
  int pixel = ((convert_int(get_group_id(0)) * 64) + convert_int(get_local_id(0)));
  int block = convert_int(get_group_id(1));
  if (pixel < (H * W)) {
    T4 v_ = READ(x, ((int4)(pixel, block, 0, 0)));
    y[((block * 4) * (H * W)) + pixel] = v_.s0;
    y[(((block * 4) + 1) * (H * W)) + pixel] = v_.s1;
    y[(((block * 4) + 2) * (H * W)) + pixel] = v_.s2;
    y[(((block * 4) + 3) * (H * W)) + pixel] = v_.s3;
  }
}

kernel void add_relu_buffer(global T *restrict y, global const T *restrict a, global const T *restrict b) {
  const int i = get_global_id(0);
  if (i < C * H * W / 4) {
    vstore4(max(vload4(i, a) + vload4(i, b), (T4)0), i, y);
  }
}

kernel void add_relu_texture(write_only image2d_t y, read_only image2d_t a, read_only image2d_t b) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  if (at.x < W && at.y < H * C / 4) {
    WRITE(y, at, max(READ(a, at) + READ(b, at), (T4)0));
  }
}
