// Each call has an array of its own, which only the first one sets. In the clean twin the caller has it, for all calls.
#ifdef CLEAN
int pick(int *kept, int i, int call)
#else
int pick(int i, int call)
#endif
{
#ifndef CLEAN
  int kept[3];
#endif
  if (call == 0)
    for (int n = 0; n < 3; ++n)
      kept[n] = i + n;
  return kept[i % 3];
}

__kernel void sum(__global int *out) {
  const int i = get_global_id(0);
  int total = 0;
  int kept[3];
  for (int call = 0; call < 3; ++call)
#ifdef CLEAN
    total += pick(kept, i, call);
#else
    total += pick(i, call);
#endif
  out[i] = total;
}
