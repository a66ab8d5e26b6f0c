// In-place update of a read_write image with a step too far to the right.
__kernel void accumulate(__read_write image2d_t acc, const int shift) {
  const int x = get_global_id(0);
#ifdef CLEAN
  const int to = x;
#else
  const int to = x + shift;
#endif
  const float4 sum = read_imagef(acc, (int2)(x, 0)) + 1.0f;
  if (x >= 2)
    write_imagef(acc, (int2)(to, 0), sum);
}
