// A counter behind a byte of flags.
__kernel void count_up(__global uchar *state) {
#ifdef CLEAN
  atomic_inc((volatile __global uint *)(state + 4));
#else
  atomic_inc((volatile __global uint *)(state + 1));
#endif
}
