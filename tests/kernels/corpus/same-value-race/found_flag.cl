// Every work-item that finds something sets the same flag.
__kernel void any_above(__global const float *in, __global int *found, const float limit) {
  const int i = get_global_id(0);
  if (in[i] > limit) {
#ifdef CLEAN
    atomic_or(found, 1);
#else
    *found = 1;
#endif
  }
}
