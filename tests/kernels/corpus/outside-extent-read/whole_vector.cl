/* Rows of 6 elements, 8 apart, read four at a time. The clean twin reads whole vectors too, and uses what is in the row. */
__kernel void sum(__global const float4* a, __global float* out) {
  int row = get_global_id(0);
  float4 low = a[2 * row];
  float4 high = a[2 * row + 1];
  float total = low.x + low.y + low.z + low.w + high.x + high.y;
#ifndef CLEAN
  total += high.z;
#endif
  out[row] = total;
}
