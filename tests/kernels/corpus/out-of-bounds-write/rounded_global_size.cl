// The global size is rounded up to whole groups, and nothing guards the surplus.
#define GLOBAL_SIZE_1_DIM __private const int global_size_dim0,
#ifdef CLEAN
#define DEAL_NON_UNIFORM_DIM1(i) if ((i) >= global_size_dim0) return;
#else
#define DEAL_NON_UNIFORM_DIM1(i)
#endif

__kernel void fill_value(GLOBAL_SIZE_1_DIM __global float *output, const float value) {
  const int i = get_global_id(0);
  DEAL_NON_UNIFORM_DIM1(i)
  output[i] = value;
}
