// Pointwise convolution over NC4HW4 data: the last block of input channels is only partly there.
#define FLOAT4 float4

__kernel void conv_1x1(__global const FLOAT4 *src, __global const FLOAT4 *weights, __global FLOAT4 *dst,
                       __private const int plane, __private const int blocks) {
  const int pos = get_global_id(0);
  const int out_block = get_global_id(1);
  FLOAT4 sum = (FLOAT4)0;
#ifdef CLEAN
  for (int block = 0; block < blocks; ++block) {
#else
  for (int block = 0; block <= blocks; ++block) {
#endif
    const FLOAT4 in = src[block * plane + pos];
    sum = mad(in, weights[out_block], sum);
  }
  dst[out_block * plane + pos] = sum;
}
