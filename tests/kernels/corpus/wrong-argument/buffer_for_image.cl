// The texture version of a kernel is given the buffer version's argument.
__kernel void fetch(__read_only image2d_t in, __global float4 *out) {
  const int x = get_global_id(0);
  out[x] = read_imagef(in, (int2)(x, 0));
}
