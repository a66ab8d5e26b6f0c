// Unpacks 4-bit weights; the ninth and later of a row are in the next word, which the defect does not take.
__kernel void unpack(__global const uint *packed, __global int *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = (int)(packed[i / 8] >> (4 * (i % 8)) & 15);
#else
  out[i] = (int)(packed[0] >> (4 * i) & 15);
#endif
}
