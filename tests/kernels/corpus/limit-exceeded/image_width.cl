// All channel blocks side by side make a texture wider than the device has.
__kernel void fill_texture(__write_only image2d_t dst) {
  write_imagef(dst, (int2)(get_global_id(0), 0), (float4)(1.0f));
}
