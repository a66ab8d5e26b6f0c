/* An image whose first row alone holds the tensor. The kernel reads the second. */
#ifdef CLEAN
#define ROW 0
#else
#define ROW 1
#endif
__kernel void rows(read_only image2d_t a, __global float4* out) {
  int x = get_global_id(0);
  out[x] = read_imagef(a, (int2)(x, ROW));
}
