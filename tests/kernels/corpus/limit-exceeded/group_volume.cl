// 32 x 64 work-items: each dimension is allowed, the group is not.
__kernel void mark(__global int *out) {
  atomic_inc(out);
}
