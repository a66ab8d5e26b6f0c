/* A texture of 8 x 4 texels that holds a tensor of 6 x 3. */
#ifdef CLEAN
#define WIDTH 6
#else
#define WIDTH 8
#endif
__kernel void fill(__write_only image2d_t image, __global float* done) {
  int x = get_global_id(0);
  int y = get_global_id(1);
  if (x < WIDTH)
    write_imagef(image, (int2)(x, y), (float4)(x, y, 0.0f, 1.0f));
  done[y * 8 + x] = 1.0f;
}
