// The output image is declared __read_only: the kernel does not compile.
#ifdef CLEAN
#define OUT __write_only
#else
#define OUT __read_only
#endif

__kernel void fill_image(OUT image2d_t dst) {
  write_imagef(dst, (int2)(get_global_id(0), 0), (float4)(1.0f));
}
