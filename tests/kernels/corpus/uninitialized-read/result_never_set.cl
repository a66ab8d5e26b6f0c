// The result is set under a condition that need not hold, and stored in any case.
__kernel void classify(__global const float *in, __global int *out) {
  const int i = get_global_id(0);
  int kind;
  if (in[i] < 1.0f)
    kind = 0;
  else if (in[i] < 3.0f)
    kind = 1;
#ifdef CLEAN
  else
    kind = 2;
#endif
  out[i] = kind;
}
