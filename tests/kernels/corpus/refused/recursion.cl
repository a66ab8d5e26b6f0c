// OpenCL C has no recursion.
#ifdef CLEAN
inline int factorial(int n) {
  int product = 1;
  for (int i = 2; i <= n; ++i)
    product *= i;
  return product;
}
#else
int factorial(int n) {
  return n < 2 ? 1 : n * factorial(n - 1);
}
#endif

__kernel void factorials(__global int *out) {
  const int i = get_global_id(0);
  out[i] = factorial(i);
}
