/* Two stores of one line: the second corrects the value of the first, which is ordinary style. In a loop, the first overwrites
   what nobody read. */
#define PUT(value) out[i] = (value); if ((value) > 5.0f) out[i] = 5.0f
#ifdef CLEAN
#define TIMES 1
#else
#define TIMES 2
#endif
__kernel void set(__global const float* in, __global float* out) {
  int i = get_global_id(0);
  for (int j = 0; j < TIMES; ++j) {
    PUT(2.0f * in[i] + 0.25f * j);
  }
}
