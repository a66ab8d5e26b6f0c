// The index counts floats, the cast pointer counts float4.
__kernel void gather_blocks(__global const float *src, __global float4 *dst, const int stride) {
  const int i = get_global_id(0);
  __global const float4 *blocks = (__global const float4 *)src;
#ifdef CLEAN
  dst[i] = blocks[i * stride / 4];
#else
  dst[i] = blocks[i * stride];
#endif
}
