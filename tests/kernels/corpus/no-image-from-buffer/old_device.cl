// This device has no images over buffers: the simulator says what it does instead.
__kernel void fill_image(__write_only image2d_t dst) {
  write_imagef(dst, (int2)(get_global_id(0), get_global_id(1)), (float4)(1.0f));
}
