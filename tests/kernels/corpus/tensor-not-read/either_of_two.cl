/* A pointer to one of two pools: the tensor in b is read, that in a is not, as all of its reads begin at the pool. */
#ifdef CLEAN
#define SHIFT 4
#else
#define SHIFT 0
#endif
__kernel void choose(__global const float* a, __global const float* b, __global const int* which, __global float* out) {
  int i = get_global_id(0);
  __global const float* from = which[i] ? a + SHIFT : b;
  out[i] = from[i];
}
