// The kernel was tuned for one work-group size and says so.
__attribute__((reqd_work_group_size(8, 1, 1)))
__kernel void tuned(__global int *out) {
  out[get_global_id(0)] = get_local_size(0);
}
