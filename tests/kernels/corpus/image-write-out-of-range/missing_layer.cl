// Texture arrays hold a batch in their layers; the batch index starts at 1.
__kernel void write_batch(__write_only image2d_array_t dst, __global const float *values) {
  const int x = get_global_id(0);
  const int n = get_global_id(1);
#ifdef CLEAN
  const int layer = n;
#else
  const int layer = n + 1;
#endif
  write_imagef(dst, (int4)(x, 0, layer, 0), (float4)(values[n]));
}
