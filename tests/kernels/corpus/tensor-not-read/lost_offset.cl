/* A pool of which bytes 64 to 127 hold the tensor. The kernel is to add the view's offset, and does not. */
#ifdef CLEAN
#define AT(offset) (offset)
#else
#define AT(offset) 0
#endif
__kernel void scale(__global const char* pool, int offset, __global float* out) {
  __global const float* a = (__global const float*)(pool + AT(offset));
  int i = get_global_id(0);
  out[i] = a[i] * 2.0f;
}
