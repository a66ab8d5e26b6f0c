// An RGBA8 picture is UNORM_INT8: it takes write_imagef.
__kernel void store_pixels(__global const uchar4 *pixels, __write_only image2d_t dst) {
  const int x = get_global_id(0);
#ifdef CLEAN
  write_imagef(dst, (int2)(x, 0), convert_float4(pixels[x]) / 255.0f);
#else
  write_imageui(dst, (int2)(x, 0), convert_uint4(pixels[x]));
#endif
}
