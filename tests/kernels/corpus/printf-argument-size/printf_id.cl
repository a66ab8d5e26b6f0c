// Prints an id, which has 64 bits, as an int; the twin says so in the format.
__kernel void report(__global const float *in, __global float *out) {
  const int i = get_global_id(0);
  out[i] = in[i];
#ifdef CLEAN
  if (in[i] > 2) printf("%lu: %f\n", get_global_id(0), in[i]);
#else
  if (in[i] > 2) printf("%d: %f\n", get_global_id(0), in[i]);
#endif
}
