// an atomic operation on 64 bits
kernel void k(global atomic_long *a) {
  atomic_fetch_add(a, 3L);
}
