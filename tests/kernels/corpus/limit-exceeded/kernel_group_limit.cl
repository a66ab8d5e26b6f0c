// A kernel of many registers has smaller groups than the device.
kernel void fill(global int *out) {
  out[get_global_id(0)] = get_local_size(0);
}
