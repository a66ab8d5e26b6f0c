// Accumulates 2 x 3 results per work-item; the defect has the extents the wrong way round.
__kernel void outer(__global const float *a, __global const float *b, __global float *out) {
  const int g = get_global_id(0);
  float acc[2][3];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      acc[i][j] = 0.0f;
#ifdef CLEAN
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
#else
  for (int i = 0; i < 1; ++i)
    for (int j = 0; j < 6; ++j)
#endif
      acc[i][j] += a[g * 2 + i] * b[j];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      out[g * 6 + i * 3 + j] = acc[i][j];
}
