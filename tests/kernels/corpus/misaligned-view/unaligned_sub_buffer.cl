// A sub-buffer must start where the device's alignment allows.
__kernel void fill(__global float *out) {
  out[get_global_id(0)] = 1.0f;
}
