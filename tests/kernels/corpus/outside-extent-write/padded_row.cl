/* A matrix of 3 rows with 6 columns, 8 elements apart. One column too many is inside the buffer, but in the padding. */
#ifdef CLEAN
#define COLUMNS 6
#else
#define COLUMNS 7
#endif
__kernel void scale(__global const float* a, __global float* b) {
  int row = get_global_id(1);
  int column = get_global_id(0);
  if (column < COLUMNS)
    b[row * 8 + column] = 2.0f * a[row * 6 + min(column, 5)];
}
