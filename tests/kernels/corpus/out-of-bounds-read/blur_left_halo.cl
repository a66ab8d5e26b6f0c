// Three-tap blur of a line: the first element has no left neighbour.
__kernel void blur3(__global const float *restrict in, __global float *restrict out, const int width) {
  const int x = get_global_id(0);
  if (x >= width)
    return;
  const int right = min(x + 1, width - 1);
#ifdef CLEAN
  const int left = max(x - 1, 0);
#else
  const int left = x - 1;
#endif
  out[x] = 0.25f * in[left] + 0.5f * in[x] + 0.25f * in[right];
}
