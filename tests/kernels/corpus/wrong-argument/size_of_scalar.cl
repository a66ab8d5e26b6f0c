// The host passes size_t where the kernel declares int.
__kernel void fill(__global int *out, const int value) {
  out[get_global_id(0)] = value;
}
