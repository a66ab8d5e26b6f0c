kernel void k(global int *a, local uint *t) {
  atomic_add(a, 3);
  atomic_max(a + 1, (int)get_global_id(0));
  atomic_cmpxchg(a + 2, 1, 2);
  atomic_min(t, 4u);
  a[4] = atomic_xchg(t, 7);
}
