// A colour cube with 2 slices, written by 3 work-items along z.
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable

__kernel void fill_cube(__write_only image3d_t cube, const int depth) {
  const int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
#ifdef CLEAN
  if (at.z < depth)
#endif
    write_imageui(cube, at, convert_uint4(at));
}
