// A convolution without bias passes no pointer on; the kernel still reads it.
__kernel void add_bias(__global float *data, __global const float *bias, const int has_bias) {
  const int c = get_global_id(0);
  __global const float *source = has_bias ? bias : (__global const float *)0;
#ifdef CLEAN
  if (source)
#endif
    data[c] += source[c];
}
