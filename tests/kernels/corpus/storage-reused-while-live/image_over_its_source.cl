// The packed weights are unpacked into an image over the same bytes.
__kernel void unpack_weights(__global const float *packed, __write_only image2d_t weights) {
  const int x = get_global_id(0), y = get_global_id(1);
  write_imagef(weights, (int2)(x, y), vload4(y * 4 + x, packed));
}
