// Four bytes either way: the bits would be taken for another number.
__kernel void repeat(__global int *out, const int times) {
  out[get_global_id(0)] = times;
}
