// Reads past its input and writes past its output: both are told.
__kernel void slice(__global const float *in, __global float *out, const int begin, const int limit) {
  const int i = get_global_id(0);
#ifdef CLEAN
  if (i >= limit)
    return;
#endif
  const float value = in[begin + i];
  out[i] = value * 2.0f;
}
