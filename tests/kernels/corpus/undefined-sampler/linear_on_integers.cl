// Integers are not blended.
__kernel void upscale_labels(__read_only image2d_t labels, __global uint *out) {
#ifdef CLEAN
  const sampler_t sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
#else
  const sampler_t sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
#endif
  const int x = get_global_id(0);
  out[x] = read_imageui(labels, sampler, (float2)(x * 0.5f + 0.25f, 0.5f)).x;
}
