// The store of a vector was split into one texel store per lane: each replaces the one before.
__kernel void store_lanes(__global const float4 *in, __write_only image2d_t out) {
  const int x = get_global_id(0);
  const float4 value = in[x];
#ifdef CLEAN
  write_imagef(out, (int2)(x, 0), value);
#else
  write_imagef(out, (int2)(x, 0), (float4)(value.x));
  write_imagef(out, (int2)(x, 0), (float4)(value.y));
  write_imagef(out, (int2)(x, 0), (float4)(value.z));
  write_imagef(out, (int2)(x, 0), (float4)(value.w));
#endif
}
