kernel void k(global half *a) {
  int i = get_global_id(0);
  vstore_half4_rtz(vload_half4(i, a) * 2, i + 1, a);
}
