// 2,048 work-items in a group.
__kernel void ids(__global int *out) {
  out[get_global_id(0)] = get_local_id(0) == 0;
}
