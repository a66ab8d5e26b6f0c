// Waits for a flag that the previous kernel should have set.
__kernel void wait_ready(volatile __global int *ready, __global int *out) {
#ifdef CLEAN
  if (atomic_or(ready, 0) == 0)
    return;
#else
  while (atomic_or(ready, 0) == 0)
    ;
#endif
  out[get_global_id(0)] = 1;
}
