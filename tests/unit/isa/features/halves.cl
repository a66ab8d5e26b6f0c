#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global half4 *a) {
  int i = get_global_id(0);
  a[i] = mad(a[i], a[i + 1], a[i + 2]);
}
