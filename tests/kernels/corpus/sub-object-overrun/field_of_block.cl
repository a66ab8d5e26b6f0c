// A block of quantized weights: 8 values, then their scale. The ninth value is the scale's bytes.
typedef struct {
  char q[8];
  float scale;
} block_t;

__kernel void dequantize(__global const block_t *blocks, __global float *out) {
  const int i = get_global_id(0);
#ifdef CLEAN
  out[i] = blocks[i / 8].q[i % 8] * blocks[i / 8].scale;
#else
  out[i] = blocks[i / 9].q[i % 9] * blocks[i / 9].scale;
#endif
}
