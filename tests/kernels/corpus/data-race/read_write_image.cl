// A read_write image is filtered in place.
__kernel void filter(__read_write image2d_t image, __global float *out) {
  const int x = get_global_id(0);
  const float next = read_imagef(image, (int2)(x + 1, 0)).x;
#ifdef CLEAN
  out[x] = next;
#else
  write_imagef(image, (int2)(x, 0), (float4)(next));
  out[x] = next;
#endif
}
