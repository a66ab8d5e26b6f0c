// A residual is added to what the output texture holds.
#ifdef CLEAN
#define IN_OUT __read_write
#else
#define IN_OUT __write_only
#endif

__kernel void add_one(IN_OUT image2d_t image) {
  const int2 at = (int2)(get_global_id(0), 0);
  write_imagef(image, at, read_imagef(image, at) + 1.0f);
}
