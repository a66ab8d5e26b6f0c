#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global const half4 *a, global half4 *b) {
  int i = get_global_id(0);
  b[i] = mad(a[i], a[i + 1], a[i + 2]);
}
