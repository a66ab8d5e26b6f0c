// Prints a float as an integer, which is undefined; the twin prints it as what it is.
__kernel void report(__global const float *in, __global float *out) {
  const int i = get_global_id(0);
  out[i] = in[i];
#ifdef CLEAN
  if (in[i] > 2) printf("%d: %f\n", i, in[i]);
#else
  if (in[i] > 2) printf("%d: %d\n", i, in[i]);
#endif
}
