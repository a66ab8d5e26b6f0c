// Two output rows a work-item, an odd number of rows.
#define WI_F(image, x, y, value) write_imagef(image, (int2)(x, y), value)

__kernel void upsample_rows(__write_only image2d_t output, __private const float value, __private const int height) {
  const int x = get_global_id(0);
  const int y = get_global_id(1) * 2;
  WI_F(output, x, y, (float4)value);
#ifdef CLEAN
  if (y + 1 < height)
#endif
    WI_F(output, x, y + 1, (float4)value);
}
