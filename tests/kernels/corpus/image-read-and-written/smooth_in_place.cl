// A filter reads its neighbours from the image that it writes.
__kernel void smooth(__read_only image2d_t in, __write_only image2d_t out) {
  const int x = get_global_id(0), y = get_global_id(1);
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
  write_imagef(out, (int2)(x, y), 0.5f * (read_imagef(in, s, (int2)(x, y)) + read_imagef(in, s, (int2)(min(x + 1, 3), y))));
}
