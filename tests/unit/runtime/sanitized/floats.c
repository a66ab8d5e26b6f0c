/* Soft float: every half, halves of floats all over, fused multiply-add. */
#include <stdint.h>
#include <string.h>

float __extendhfsf2(_Float16 half);
_Float16 __truncsfhf2(float value);
float fmaf(float a, float b, float c);
double fma(double a, double b, double c);

int main(void) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t stored = bits;
    _Float16 half;
    memcpy(&half, &stored, 2);
    const _Float16 again = __truncsfhf2(__extendhfsf2(half));
    if ((bits & 0x7fff) <= 0x7c00 && memcmp(&again, &stored, 2)) return 1;
  }
  for (uint64_t bits = 0; bits < 1ull << 32; bits += 4099) {
    const uint32_t stored = bits;
    float value;
    memcpy(&value, &stored, 4);
    __truncsfhf2(value);
    fmaf(value, value, -value);
    fma(value, 1e200, value * 1e180);
  }
  return fmaf(3, 4, 5) != 17 || fma(0x1p27 + 1, 0x1p27 + 1, -0x1p54) != 0x1p28 + 1;
}
