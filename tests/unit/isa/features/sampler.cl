kernel void k(read_only image2d_array_t i, sampler_t s, global float4 *o) {
  int j = get_global_id(0);
  o[j] = read_imagef(i, s, (float4)(0.3f, 0.1f * j, 1, 0)) + get_image_width(i);
}
