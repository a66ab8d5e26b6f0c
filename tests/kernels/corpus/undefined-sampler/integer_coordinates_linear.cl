// A linear sampler needs float coordinates.
__constant sampler_t SMOOTH = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

__kernel void shrink(__read_only image2d_t in, __global float *out) {
  const int x = get_global_id(0);
#ifdef CLEAN
  out[x] = read_imagef(in, SMOOTH, (float2)(2 * x + 1.0f, 1.0f)).x;
#else
  out[x] = read_imagef(in, SMOOTH, (int2)(2 * x, 0)).x;
#endif
}
