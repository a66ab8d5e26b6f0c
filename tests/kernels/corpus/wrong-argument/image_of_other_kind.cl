// image2d_t where the kernel wants image2d_array_t.
__kernel void fetch(__read_only image2d_array_t in, __global float4 *out) {
  const int x = get_global_id(0);
  out[x] = read_imagef(in, (int4)(x, 0, 0, 0));
}
