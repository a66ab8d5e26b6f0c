// Prints two numbers and a percentage, and passes one argument too few.
__kernel void report(__global const int *in, __global int *out) {
  const int i = get_global_id(0);
  out[i] = in[i];
#ifdef CLEAN
  if (in[i] > 2) printf("%d: %v2hld of 100%%\n", i, (int2)(in[i], 0), in[i]);
#else
  if (in[i] > 2) printf("%d: %v2hld of 100%%\n", i);
#endif
}
