// A mask of the channels in use. One work-item asks for all 32 bits of a word, another for none of the vector's lane.
__kernel void masks(__global const int4 *used, __global uint4 *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = convert_uint4((ulong4)(1) << convert_ulong4(used[i])) - 1u;
#else
  out[i] = ((uint4)(1) << convert_uint4(used[i])) - 1u;
#endif
}
