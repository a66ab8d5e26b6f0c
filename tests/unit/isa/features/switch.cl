kernel void k(global const int *a, global int *b) {
  int i = 3 * get_global_id(0);
  switch (a[i] & 15) {
    case 0: b[i] = 5; break;
    case 3: b[i] = a[i + 1];
    case 4: b[i + 2] = 1; break;
    case 9: return;
    default: b[i] = 7;
  }
  b[i + 1] = 1;
}
