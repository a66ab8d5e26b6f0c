// Four accumulators, and a loop over five rows.
#define ROWS 4

__kernel void rows_sum(__global const float *in, __global float *out, const int rows) {
  float acc[ROWS];
  for (int r = 0; r < ROWS; ++r)
    acc[r] = 0.0f;
  for (int r = 0; r < rows; ++r)
    acc[r] += in[r];
  float total = 0.0f;
  for (int r = 0; r < ROWS; ++r)
    total += acc[r];
  out[get_global_id(0)] = total;
}
