// Constants whose division clang folds away: by zero in one branch, the smallest integer by -1, and its remainder.
#define GROUPS 0
__kernel void average(__global int *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = i < 2 ? 7 : 12 / max(GROUPS, 1);
  out[i] += 9 / -1 + (-2147483647 - 1) / 2 % -1;
#else
  out[i] = i < 2 ? 7 : 12 / GROUPS;
  out[i] += (-2147483647 - 1) / -1 + 9 % -1;
#endif
}
