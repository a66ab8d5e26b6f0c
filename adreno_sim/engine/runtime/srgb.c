/* Colours of sRGB images. */
#include "kernel.h"

/* Returns the byte whose range holds a linear value: 0 for NaN and below, 255 above. */
NOINLINE uint8_t srgb_encode(float value) {
  uint64_t byte = 0;
  for (uint64_t step = 128; step; step /= 2) byte += value >= srgb_edges[byte + step - 1] ? step : 0;
  return byte;
}
