// Too small by the pitch rule, and yet inside the page that the pool gives out.
__kernel void fill_image(__write_only image2d_t dst) {
  write_imagef(dst, (int2)(get_global_id(0), get_global_id(1)), (float4)(1.0f));
}
