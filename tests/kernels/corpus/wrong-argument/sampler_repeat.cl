// A sampler argument that repeats unnormalized coordinates cannot be made.
__kernel void fetch(__read_only image2d_t in, sampler_t sampler, __global float *out) {
  const int x = get_global_id(0);
  out[x] = read_imagef(in, sampler, (float2)((x + 0.5f) / 2.0f, 0.5f)).x;
}
