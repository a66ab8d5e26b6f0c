// constant memory that a wave loads
kernel void k(global float *y, constant float4 *w, constant float4 *fast __attribute__((max_constant_size(64)))) {
  qcom_sub_group_constant_load8(fast, w, 0, 0, 4);
  qcom_sub_group_sync(QCOM_CLK_CONST_LOAD_SYNC);
  y[get_global_id(0)] = fast[1].x;
}
