kernel void k(global int *a, global const uint *b) {
  int i = get_global_id(0);
  a[i] = dot_acc_sat_4x8packed_ss_int(b[i] * 0x10f0301, b[i + 1], a[i]);
}
