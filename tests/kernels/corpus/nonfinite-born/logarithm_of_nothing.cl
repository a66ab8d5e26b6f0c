// A logarithm into an image: of 0 it is an infinity. Where the input holds one itself, it is passed on.
__kernel void logarithms(__write_only image2d_t out, __global const float *in, float least) {
  const int i = get_global_id(0);
  write_imagef(out, (int2)(i, 0), (float4)(0.0f, log(fmax(in[i], least)), 0.0f, 1.0f));
}
