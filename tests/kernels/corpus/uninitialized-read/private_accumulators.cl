// Three of four accumulators are set; the loop adds to all of them.
#define ROWS 4

__kernel void dot_rows(__global const float *in, __global float *out) {
  float acc[ROWS];
#ifdef CLEAN
  for (int r = 0; r < ROWS; ++r)
#else
  for (int r = 0; r < ROWS - 1; ++r)
#endif
    acc[r] = 0.0f;
  for (int r = 0; r < ROWS; ++r)
    acc[r] += in[r];
  const int i = get_global_id(0);
  out[i] = acc[i & 3];
}
