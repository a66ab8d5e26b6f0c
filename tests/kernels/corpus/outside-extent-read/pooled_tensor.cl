/* A pool of which bytes 64 to 127 hold the tensor; the kernel is given the whole pool and an offset. */
#ifdef CLEAN
#define LAST 15
#else
#define LAST 16
#endif
__kernel void difference(__global const char* pool, int offset, __global float* out) {
  __global const float* a = (__global const float*)(pool + offset);
  int i = get_global_id(0);
  out[i] = a[min(i + 1, LAST)] - a[i];
}
