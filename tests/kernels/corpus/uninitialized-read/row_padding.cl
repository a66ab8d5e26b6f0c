// A flat read of an image's storage walks through the padding between its rows.
__kernel void flat_sum(__write_only image2d_t image, __global const float *flat, __global float *out, const int count) {
  const int i = get_global_id(0);
  float sum = 0.0f;
  for (int n = i; n < count; n += get_global_size(0))
    sum += flat[n];
  out[i] = sum;
}
