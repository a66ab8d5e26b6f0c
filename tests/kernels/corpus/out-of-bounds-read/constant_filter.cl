// A filter in program scope, read one tap too far.
#define TAPS 5
__constant float gauss[TAPS] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

__kernel void filter_row(__global const float *in, __global float *out) {
  const int x = get_global_id(0);
  float sum = 0.0f;
#ifdef CLEAN
  for (int tap = 0; tap < TAPS; ++tap)
#else
  for (int tap = 0; tap <= TAPS; ++tap)
#endif
    sum += gauss[tap] * in[x + tap];
  out[x] = sum;
}
