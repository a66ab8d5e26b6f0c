// A remainder by -1 of the smallest integer: the quotient does not fit, and some processors stop there.
__kernel void wrap(__global const int *in, __global const int *by, __global int *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = by[i] == -1 ? 0 : in[i] % by[i];
#else
  out[i] = in[i] % by[i];
#endif
}
