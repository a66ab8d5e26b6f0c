// Quantizes to 8 bits; what exceeds the range of the scale needs the saturating conversion.
__kernel void quantize(__global const float4 *in, __global char4 *out, const float scale) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = convert_char4_sat_rte(in[i] / scale);
#else
  out[i] = convert_char4_rte(in[i] / scale);
#endif
}
