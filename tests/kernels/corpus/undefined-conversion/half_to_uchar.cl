// Colours to bytes: below zero an unsigned byte holds nothing.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void bytes(__global const half *in, __global uchar *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = (uchar)fmax(in[i], (half)0);
#else
  out[i] = (uchar)in[i];
#endif
}
