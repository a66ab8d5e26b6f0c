kernel void k(global const half *a, global half *b) {
  int i = get_global_id(0);
  vstore_half4_rtz(vload_half4(i, a) * 1.7f, i + 1, b);
}
