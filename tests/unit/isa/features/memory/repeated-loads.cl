constant int table[4] = {3, 5, 7, 11};

kernel void k(global int *a, global int *b, local int *shared) {
  int i = get_global_id(0), l = get_local_id(0), n = get_global_size(0);
  const float weights[4] = {0.5f, 1.5f, 2.5f, 3.5f};
  int first = a[i] < 5 ? a[i] : (b[i] > a[i] ? a[i] + b[i] : b[i]);
  b[i + n] = a[i] + table[2] + (int)weights[1];
  int again = a[i] + b[i + n];
  shared[l] = a[i];
  if (again & 1) {
    a[i] = again;
    shared[l] = first;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  int there = shared[l] + shared[l ^ 1];
  for (int j = 0; j < 3; j++) {
    there += a[i] + shared[l];
    a[i] = there;
    if (j == 1) shared[l] = there;
  }
  atomic_add(&a[i], 2);
  b[i + 2 * n] = a[i] + there + shared[l];
  global char *bytes = (global char *)(a + i);
  bytes[1] = 7;
  b[i + 3 * n] = a[i] + bytes[1] + bytes[2] + (int)weights[l & 3];
}
