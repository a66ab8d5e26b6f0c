constant sampler_t s = CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
kernel void k(read_only image2d_t i, write_only image2d_t o) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(o, p, read_imagef(i, s, p) * 2);
}
