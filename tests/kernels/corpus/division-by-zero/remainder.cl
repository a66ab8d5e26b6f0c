// Strided pooling: the stride of the second layer was left 0.
__kernel void phase(__global const uint *stride, __global uint *out) {
  const uint i = get_global_id(0);
#ifdef CLEAN
  out[i] = stride[i] ? i % stride[i] : 0;
#else
  out[i] = i % stride[i];
#endif
}
