// Without -cl-std=CL2.0 the global size must be a multiple of the local size.
__kernel void fill(__global int *out) {
  out[get_global_id(0)] = get_group_id(0);
}
