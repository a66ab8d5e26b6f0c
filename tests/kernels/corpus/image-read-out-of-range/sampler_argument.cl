// The sampler comes from the host, which forgot the addressing mode.
__kernel void neighbour(__read_only image2d_t in, sampler_t sampler, __global float4 *out) {
  const int x = get_global_id(0);
#ifdef CLEAN
  const int to_left = max(x - 1, 0);
#else
  const int to_left = x - 1;
#endif
  out[x] = read_imagef(in, sampler, (int2)(to_left, 0));
}
