// .w of the accumulator is never set.
__kernel void rgb_sum(__global const float *rgb, __global float *out) {
  const int i = get_global_id(0);
  float4 texel;
  texel.x = rgb[3 * i];
  texel.y = rgb[3 * i + 1];
  texel.z = rgb[3 * i + 2];
#ifdef CLEAN
  texel.w = 0.0f;
#endif
  out[i] = dot(texel, (float4)(1.0f));
}
