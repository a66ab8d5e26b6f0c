// An image array over a buffer needs cl_ext_image_from_buffer.
__kernel void fill_layers(__write_only image2d_array_t dst) {
  write_imagef(dst, (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0), (float4)(1.0f));
}
