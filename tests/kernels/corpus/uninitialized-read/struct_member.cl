// A struct with padding is copied about; one of its members was never set.
typedef struct {
  uchar tag;
  int value;
  float scale;
} Item;

__kernel void scaled(__global const int *in, __global float *out) {
  const int i = get_global_id(0);
  Item first, list[2];
  first.tag = 1;
  first.value = in[i];
#ifdef CLEAN
  first.scale = 2.0f;
#endif
  list[i & 1] = first;
  const Item chosen = list[i & 1];
  out[i] = chosen.tag * chosen.value;
  out[i] += chosen.scale;
}
