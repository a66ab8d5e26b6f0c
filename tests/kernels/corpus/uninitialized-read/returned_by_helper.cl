// Each call returns a variable of its own, which only the first call sets. In the clean twin every call does.
typedef struct {
  int at[3];
} Row;

Row make(int i, int call) {
  Row made;
#ifdef CLEAN
  call = 0;
#endif
  if (call == 0)
    for (int n = 0; n < 3; ++n)
      made.at[n] = i + n;
  return made;
}

__kernel void sum(__global int *out) {
  const int i = get_global_id(0);
  int total = 0;
  Row row;
  for (int call = 0; call < 3; ++call) {
    row = make(i, call);
    total += row.at[i % 3];
  }
  for (int call = 0; call < 3; ++call) {
    Row rows[2] = {make(i, call), make(i, 0)};
    total += rows[0].at[i % 3];
    total += rows[1].at[i % 3];
  }
  out[i] = total;
}
