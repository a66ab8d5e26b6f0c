// One buffer of more than MAX_MEM_ALLOC_SIZE.
__kernel void touch(__global uchar *data) {
  data[get_global_id(0)] = 1;
}
