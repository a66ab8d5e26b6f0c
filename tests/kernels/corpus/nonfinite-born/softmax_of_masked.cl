// A softmax over rows whose mask is the kernel's own -INFINITY. A row that is masked whole is 0 / 0.
__kernel void softmax(__global float *out, __global float *scores, __global const float *in, __global const int *length) {
  const int row = get_global_id(0);
  float top = -INFINITY, sum = 0.0f;
  for (int i = 0; i < 4; i++) {
    scores[row * 4 + i] = i < length[row] ? in[row * 4 + i] : -INFINITY;
    top = fmax(top, scores[row * 4 + i]);
  }
#ifdef CLEAN
  if (top == -INFINITY) top = 0.0f;
#endif
  for (int i = 0; i < 4; i++) sum += exp(scores[row * 4 + i] - top);
#ifdef CLEAN
  if (sum == 0.0f) sum = 1.0f;
#endif
  for (int i = 0; i < 4; i++) out[row * 4 + i] = exp(scores[row * 4 + i] - top) / sum;
}
