// Constants that the integer cannot hold: a float too large for a char, a negative one as uint, infinity.
__kernel void limits(__global char *small, __global uint *count, __global int *last) {
  const int i = get_global_id(0);
#ifdef CLEAN
  small[i] = (char)-128.9f;
  count[i] = (uint)-0.9f + (uint)4294967040.0f;
  if (i > 2) last[i] = convert_int_sat(1e30f);
#else
  small[i] = (char)1e30f;
  count[i] = (uint)-5.0f;
  if (i > 2) last[i] = (int)(1.0f / 0.0f);
#endif
}
