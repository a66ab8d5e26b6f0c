// 36,000 bytes of local memory
kernel void k(global float *a) {
  local float t[9000];
  t[get_local_id(0)] = a[0];
  barrier(1);
  a[1] = t[1];
}
