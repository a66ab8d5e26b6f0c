// A 3x3 window addressed as if it had a fourth column; everything is known when compiling.
__kernel void corner(__global const float *in, __global float *out) {
  float window[3][3];
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 3; ++x)
      window[y][x] = in[y * 3 + x];
#ifdef CLEAN
  out[0] = window[2][2];
#else
  out[0] = window[2][3];
#endif
}
