// The sum is set on one path only.
__kernel void signed_sum(__global const int *in, __global int *out, const int sign) {
  const int i = get_global_id(0);
  int sum;
#ifdef CLEAN
  sum = 0;
#endif
  if (in[i] > 0)
    sum = in[i];
  out[i] = sum * sign;
}
