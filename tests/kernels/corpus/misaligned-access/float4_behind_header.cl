// The file's header is one float long: what follows is not aligned for float4.
__kernel void skip_header(__global const float *blob, __global float4 *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = vload4(i, blob + 1);
#else
  out[i] = ((__global const float4 *)(blob + 1))[i];
#endif
}
