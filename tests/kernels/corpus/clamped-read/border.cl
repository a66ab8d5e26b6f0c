// CLAMP gives the border colour outside: defined, and worth a note.
__constant sampler_t SAMPLER = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel void pool3(__read_only image2d_t in, __global float *out) {
  const int x = get_global_id(0);
  float top = -INFINITY;
#ifdef CLEAN
  const int first = max(x - 1, 0), last = min(x + 1, get_image_width(in) - 1);
#else
  const int first = x - 1, last = x + 1;
#endif
  for (int i = first; i <= last; ++i)
    top = fmax(top, read_imagef(in, SAMPLER, (int2)(i, 0)).x);
  out[x] = top;
}
