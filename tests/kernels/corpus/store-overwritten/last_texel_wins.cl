// The sum over the channels is meant; the loop stores each of them to the same texel.
__kernel void channels(__global const float *in, __write_only image2d_t out) {
  const int x = get_global_id(0);
  float sum = 0.0f;
  for (int c = 0; c < 4; ++c) {
    sum += in[4 * x + c];
#ifndef CLEAN
    write_imagef(out, (int2)(x, 0), (float4)(in[4 * x + c]));
#endif
  }
#ifdef CLEAN
  write_imagef(out, (int2)(x, 0), (float4)(sum));
#endif
}
