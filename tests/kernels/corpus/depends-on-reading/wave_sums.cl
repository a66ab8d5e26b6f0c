#pragma OPENCL EXTENSION cl_khr_subgroups : enable

// The sum of each wave: how many work-items a wave has is the compiler's choice where nothing asks for it.
kernel void wave_sums(global int *out, global const int *in) {
  int i = get_global_id(0);
  out[i] = sub_group_reduce_add(in[i]);
}
