// The bad read is in a helper; the report names its line and the line of the call.
inline float at_padded(__global const float *plane, int y, int x, int height, int width) {
#ifdef CLEAN
  if (y < 0 || x < 0 || y >= height || x >= width)
    return 0.0f;
#endif
  return plane[y * width + x];
}

__kernel void pad_copy(__global const float *in, __global float *out, const int height, const int width) {
  const int x = get_global_id(0), y = get_global_id(1);
  out[y * (width + 2) + x] = at_padded(in, y - 1, x - 1, height, width);
}
