// An 8 x 4 image written at x = 6 to 9 of row 2: the last two texels leave the row but not the allocation.
__kernel void write_strip(__write_only image2d_t dst, __private const int first) {
  const int x = first + get_global_id(0);
#ifdef CLEAN
  if (x >= get_image_width(dst))
    return;
#endif
  write_imagef(dst, (int2)(x, 2), (float4)(x, 2.0f, 0.0f, 1.0f));
}
