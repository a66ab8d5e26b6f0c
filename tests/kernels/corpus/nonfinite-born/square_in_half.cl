// Sums squares in half: 300 * 300 is beyond 65504. Elements behind `n` keep what nobody wrote.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void squares(__global half *out, __global const half *in, int n) {
  const int i = get_global_id(0);
  if (i >= n) return;
#ifdef CLEAN
  out[i] = in[i] / 16 * in[i];
#else
  out[i] = in[i] * in[i];
#endif
}
