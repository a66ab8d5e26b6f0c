// The slope is applied to the wrong side.
__kernel void leaky_relu(__global const float *in, __global float *out, const float slope) {
  const int i = get_global_id(0);
  const float x = in[i];
#ifdef CLEAN
  out[i] = x > 0.0f ? x : slope * x;
#else
  out[i] = x > 0.0f ? slope * x : x;
#endif
}
