// A sum in memory: with = in place of += only the last term is left.
__kernel void row_sums(__global const float *in, __global float *out) {
  const int i = get_global_id(0);
  out[i] = 0.0f;
  for (int n = 0; n < 4; ++n) {
#ifdef CLEAN
    out[i] += in[4 * i + n];
#else
    out[i] = in[4 * i + n];
#endif
  }
}
