// read_imageh has no CL_FLOAT: a build with half arithmetic on textures that stayed float.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#ifdef CLEAN
#define RI_F(image, at) convert_half4(read_imagef(image, at))
#else
#define RI_F(image, at) read_imageh(image, at)
#endif

__kernel void halve(__read_only image2d_t in, __global half4 *out) {
  const int x = get_global_id(0);
  out[x] = RI_F(in, (int2)(x, 0)) * (half)0.5f;
}
