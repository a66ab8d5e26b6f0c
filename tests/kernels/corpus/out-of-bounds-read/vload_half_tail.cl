// Weights are kept as half; the last block of four output channels is cut short in the file.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void scale_half(__global const half *weights, __global float *out, const int blocks) {
  const int block = get_global_id(0);
  if (block >= blocks)
    return;
  vstore4(vload_half4(block, weights) * 2.0f, block, out);
}
