// A crop that shifts to the left and does not look at the edge.
__kernel void crop(__global const int *src, __write_only image2d_t dst, const int left) {
  const int x = get_global_id(0) - left;
#ifdef CLEAN
  if (x < 0)
    return;
#endif
  write_imagei(dst, (int2)(x, 0), (int4)(src[get_global_id(0)]));
}
