/* A struct assignment (a copy of 16 bytes) that crosses from a row of 12 bytes into the padding behind it. */
typedef struct { int at[4]; } Four;
typedef struct { int at[3]; } Three;
#ifdef CLEAN
typedef Three Row;
#else
typedef Four Row;
#endif
__kernel void copy(__global const int* a, __global int* b) {
  int row = get_global_id(0);
  *(__global Row*)(b + 4 * row) = *(__global const Row*)(a + 4 * row);
}
