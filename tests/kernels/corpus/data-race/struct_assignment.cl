// A struct is assigned as a whole; a neighbour reads one member of it.
typedef struct {
  int key;
  float weight;
} Entry;

__kernel void shift(__global Entry *entries, __global float *out) {
  const int i = get_global_id(0);
  const float next = entries[i + 1].weight;
#ifndef CLEAN
  const Entry mine = {i, next};
  entries[i] = mine;
#endif
  out[i] = next;
}
