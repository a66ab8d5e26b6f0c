kernel void k(global int *a) {
  int i = get_global_id(0);
  switch (a[i]) {
    case 0: a[i] = 5;
    break;
    case 3: a[i] = a[i + 1];
    case 4: a[i + 2] = 1;
    break;
    case 9: return;
    default: a[i] = 7;
  }
  a[i + 9] = 1;
}
