// REPEAT is defined for normalized coordinates only.
#ifdef CLEAN
#define COORDS CLK_NORMALIZED_COORDS_TRUE
#define AT(x) (((x) + 0.5f) / 4.0f)
#else
#define COORDS CLK_NORMALIZED_COORDS_FALSE
#define AT(x) ((x) + 0.5f)
#endif
__constant sampler_t TILED = COORDS | CLK_ADDRESS_REPEAT | CLK_FILTER_NEAREST;

__kernel void tile(__read_only image2d_t in, __global float *out) {
  const int x = get_global_id(0);
  out[x] = read_imagef(in, TILED, (float2)(AT(x), 0.5f)).x;
}
