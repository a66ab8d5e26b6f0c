// A lookup table as a 3D image, read without sampler beyond its last slice.
__kernel void lookup(__read_only image3d_t lut, __global const int *index, __global uint *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  const int z = clamp(index[i], 0, get_image_depth(lut) - 1);
#else
  const int z = index[i];
#endif
  out[i] = read_imageui(lut, (int4)(0, 0, z, 0)).x;
}
