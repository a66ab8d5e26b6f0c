// CLK_ADDRESS_NONE promises that no coordinate leaves the image.
__constant sampler_t SAMPLER = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;

__kernel void gradient(__read_only image2d_t in, __global float *out) {
  const int x = get_global_id(0);
  const float here = read_imagef(in, SAMPLER, (int2)(x, 0)).x;
#ifdef CLEAN
  const int to_right = min(x + 1, get_image_width(in) - 1);
#else
  const int to_right = x + 1;
#endif
  const float next = read_imagef(in, SAMPLER, (int2)(to_right, 0)).x;
  out[x] = next - here;
}
