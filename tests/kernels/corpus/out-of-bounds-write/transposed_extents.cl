// A transpose that addresses the result with the pitch of the source.
__kernel void transpose(__global const float *src, __global float *dst, const int width, const int height) {
  const int x = get_global_id(0), y = get_global_id(1);
#ifdef CLEAN
  dst[x * height + y] = src[y * width + x];
#else
  dst[x * width + y] = src[y * width + x];
#endif
}
