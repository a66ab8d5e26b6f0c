// vload4 needs its pointer aligned for one element; here not even that.
__kernel void load_behind_flag(__global const uchar *blob, __global float *out) {
#ifdef CLEAN
  __global const float *values = (__global const float *)(blob + 4);
#else
  __global const float *values = (__global const float *)(blob + 1);
#endif
  vstore4(vload4(0, values), 0, out);
}
