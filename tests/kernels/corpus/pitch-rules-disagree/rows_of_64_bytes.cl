// Rows of 448 bytes are a multiple of 64 bytes, not of 64 texels: one reading of the pitch alignment refuses them.
__kernel void fill_image(__write_only image2d_t dst) {
  write_imagef(dst, (int2)(get_global_id(0), get_global_id(1)), (float4)(1.0f));
}
