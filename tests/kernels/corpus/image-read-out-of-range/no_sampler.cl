// A read without sampler: nothing clamps the coordinate.
__kernel void shift_rows(__read_only image2d_t src, __global float4 *dst, const int shift) {
  const int x = get_global_id(0), y = get_global_id(1);
#ifdef CLEAN
  const int from = min(y + shift, get_image_height(src) - 1);
#else
  const int from = y + shift;
#endif
  dst[y * get_global_size(0) + x] = read_imagef(src, (int2)(x, from));
}
