// Each iteration has a scalar, a vector and an array of its own, which only the first one sets.
__kernel void sum(__global const float *in, __global float *out) {
  const int i = get_global_id(0);
  float scales = 0.0f, rows = 0.0f, parts = 0.0f;
  for (int round = 0; round < 3; ++round) {
#ifdef CLEAN
    const int first = 1;
#else
    const int first = round == 0;
#endif
    float scale;
    float4 row;
    float part[4];
    if (first) {
      scale = 2.0f;
      row = vload4(0, in);
      for (int n = 0; n < 4; ++n)
        part[n] = in[n];
    }
    scales += scale;
    rows += row.w;
    parts += part[i & 3];
  }
  out[3 * i] = scales;
  out[3 * i + 1] = rows;
  out[3 * i + 2] = parts;
}
