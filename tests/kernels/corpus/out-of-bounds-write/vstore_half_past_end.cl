// Results are stored as half, two to a float slot; the offset counts bytes.
__kernel void to_half(__global const float4 *in, __global half *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  vstore_half4_rte(in[i], 0, out + i * 4);
#else
  vstore_half4_rte(in[i], 0, out + i * 8);
#endif
}
