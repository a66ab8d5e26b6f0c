// Blocks of four channels lie side by side: x = block * width + column. One block too many.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define FLOAT4 half4
#define WI_F(image, coord, value) write_imageh(image, coord, value)

__kernel void bias_to_texture(__global const half *bias, __write_only image2d_t output, __private const int width) {
  const int column = get_global_id(0);
  const int block = get_global_id(1);
#ifdef CLEAN
  if (block >= get_image_width(output) / width)
    return;
#endif
  const FLOAT4 value = vload4(block, bias);
  WI_F(output, (int2)(block * width + column, 0), value);
}
