// T, T4: element and four of them, float or half; ACC, ACC4: what sums are kept in. READ and WRITE move a texel.
#ifdef HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define T half
#define T4 half4
#define READ(image, coord) read_imageh(image, texels, coord)
#define WRITE(image, coord, value) write_imageh(image, coord, value)
#define TO_T4 convert_half4
#else
#define T float
#define T4 float4
#define READ(image, coord) read_imagef(image, texels, coord)
#define WRITE(image, coord, value) write_imagef(image, coord, value)
#define TO_T4 convert_float4
#endif
#define ACC float
#define ACC4 float4
#define TO_ACC4 convert_float4
__constant sampler_t texels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
