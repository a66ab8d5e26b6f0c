kernel void k(global int *a, local uint *t) {
  int l = get_local_id(0);
  if (!l) t[0] = 77;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(a, 3);
  atomic_max(a + 1, (int)get_global_id(0) + 30);
  atomic_cmpxchg(a + 2, a[40], l + 9);
  atomic_inc(a + 3);
  atomic_or(a + 4, 1 << (l & 15));
  atomic_min(t, 50u - l % 17);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!l) a[100 + get_group_id(0)] = atomic_xchg(t, 7);
}
