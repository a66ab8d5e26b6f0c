// Picks and replaces elements of a vector by an index that is past its end, or before its start, for some work-items.
__kernel void pick(__global int *picked, __global int *replaced) {
  const int i = get_global_id(0);
  int4 v = (int4)(10, 20, 30, 40);
#ifdef CLEAN
  picked[i] = v[min(i + 1, 3)];
  if (i >= 2) v[i - 2] = 7;
#else
  picked[i] = v[i + 1];
  v[i - 2] = 7;
#endif
  replaced[i] = v.x + v.y + v.z + v.w;
}
