// Accumulators are vectors in an array whose lanes are set one by one.
__kernel void pairs(__global const float *in, __global float *out) {
  const int i = get_global_id(0);
  float2 acc[2];
  for (int n = 0; n < 2; ++n) {
    acc[n].x = in[n];
#ifdef CLEAN
    acc[n].y = 1.0f;
#endif
  }
  out[i] = acc[i & 1].x + acc[i & 1].y;
}
