kernel void k(global float4 *a, global uchar4 *b) {
  int i = get_global_id(0);
  b[i] = convert_uchar4_sat_rte(a[i]);
}
