// Quantized activations are UNSIGNED_INT8; the float function does not read them.
__kernel void dequantize(__read_only image2d_t in, __global float *out, const float scale) {
  const int x = get_global_id(0);
#ifdef CLEAN
  out[x] = convert_float(read_imageui(in, (int2)(x, 0)).x) * scale;
#else
  out[x] = read_imagef(in, (int2)(x, 0)).x * 255.0f * scale;
#endif
}
