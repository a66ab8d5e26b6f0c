// The second half of a storage is asked for in full length.
__kernel void clear(__global float *data) {
  data[get_global_id(0)] = 0.0f;
}
