kernel void k(read_only image1d_buffer_t b, global float4 *o) {
  int i = get_global_id(0);
  o[i] = read_imagef(b, i);
}
