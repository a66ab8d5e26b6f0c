// Sampler-less reads do not clamp the layer.
__kernel void sum_layers(__read_only image2d_array_t in, __global float *out, const int layers) {
  const int x = get_global_id(0);
  float sum = 0.0f;
  for (int layer = 0; layer < layers; ++layer)
    sum += read_imagef(in, (int4)(x, 0, layer, 0)).x;
  out[x] = sum;
}
