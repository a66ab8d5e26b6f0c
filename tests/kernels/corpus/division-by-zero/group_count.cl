// Channels per group, with the group count missing from the model.
__kernel void group_of(__global int *out, const int channels, const int groups) {
  const int c = get_global_id(0);
#ifdef CLEAN
  const int per_group = channels / max(groups, 1);
#else
  const int per_group = channels / groups;
#endif
  out[c] = per_group * 2;
}
