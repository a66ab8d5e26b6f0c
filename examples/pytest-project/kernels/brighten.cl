// Adds to the colours of an image; alpha stays.
kernel void brighten(write_only image2d_t y, read_only image2d_t x, float by) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(y, at, clamp(read_imagef(x, at) + (float4)(by, by, by, 0), 0.0f, 1.0f));
}
