// Nearly everything overflows, and so agrees with any other overflow.
__kernel void square(__global const float *in, __global float *out) {
  float x = in[get_global_id(0)];
  out[get_global_id(0)] = x * x;
}
