// Each of three results goes to the same element.
__kernel void three_outputs(__global const float *in, __global float *out) {
  const int i = get_global_id(0);
  for (int n = 0; n < 3; ++n) {
#ifdef CLEAN
    out[3 * i + n] = in[i] * (n + 1);
#else
    out[3 * i] = in[i] * (n + 1);
#endif
  }
}
