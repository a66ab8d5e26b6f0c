// Scale factors are in __constant memory, which no kernel writes.
#ifdef CLEAN
#define SPACE __global
#else
#define SPACE __constant
#endif

__kernel void normalise(SPACE float *scale) {
  scale[get_global_id(0)] *= 0.5f;
}
