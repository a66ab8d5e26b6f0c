// A float counter stops growing at 2^24.
__kernel void accumulate(__global float *out, const float limit) {
  float i = 16777200.0f;
#ifdef CLEAN
  for (int n = 0; n < 16; ++n)
    i += 1.0f;
#else
  while (i < limit)
    i += 1.0f;
#endif
  out[0] = i;
}
