// The first kernel writes three of four channels; a vector load reads all four.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void round_trip(__global half *data, __global float *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  vstore4((half4)(1, 2, 3, 4), i, data);
#else
  vstore3((half3)(1, 2, 3), 0, data + 4 * i);
#endif
  vstore4(vload_half4(i, data), i, out);
}
