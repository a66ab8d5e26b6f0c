// A work-item reads its neighbour's element, which the neighbour overwrites.
__kernel void smooth(__global float *data, __global float *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = data[i] + data[i + 1];
#else
  data[i] = data[i] + data[i + 1];
#endif
}
