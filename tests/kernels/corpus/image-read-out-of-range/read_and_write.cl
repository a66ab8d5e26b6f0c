// Reads a column too far to the right and writes a row too far down: both are told.
__kernel void diagonal(__read_only image2d_t src, __write_only image2d_t dst) {
  const int x = get_global_id(0);
#ifdef CLEAN
  if (x + 1 >= get_image_width(src))
    return;
#endif
  const float4 value = read_imagef(src, (int2)(x + 1, x));
  write_imagef(dst, (int2)(x, x + 1), value);
}
