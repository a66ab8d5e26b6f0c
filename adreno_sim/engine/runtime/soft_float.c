/* What LLVM calls on processors without conversions of halves or fused multiply-add, with results identical to the bit.
 *
 * Half conversions work on bit patterns. Fused multiply-add rounds an exact sum to odd in double before the last rounding
 * (Boldo and Melquiond); it is exact except for doubles near the ends of their range.
 */
#include "runtime.h"

static inline uint32_t bits_of(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float float_of(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/* Difference of the exponents' biases of float and half, in place in a float. */
#define REBIAS ((127 - 15) << 23)

float __extendhfsf2(_Float16 half) {
  uint16_t bits;
  __builtin_memcpy(&bits, &half, sizeof bits);
  const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, size = bits & 0x7fff;
  uint32_t result = (size << 13) + REBIAS;
  if (size >= 0x7c00) result += REBIAS;
  if (size > 0x7c00) result |= 0x400000; /* a quiet NaN */
  if (size < 0x0400) result = bits_of((float)size * 0x1p-24f);
  return float_of(sign | result);
}

_Float16 __truncsfhf2(float value) {
  const uint32_t bits = bits_of(value), size = bits & 0x7fffffff;
  uint32_t result = (size + 0xfff + (size >> 13 & 1) - REBIAS) >> 13;
  if (size < (127 - 14) << 23) result = bits_of(float_of(size) + 0.5f) - bits_of(0.5f); /* denormal: 0.5 aligns its digits */
  if (size >= (127 + 16) << 23) result = 0x7c00;
  if (size > 0x7f800000) result = 0x7e00 | (size >> 13 & 0x1ff);
  const uint16_t stored = result | (bits >> 16 & 0x8000);
  _Float16 half;
  __builtin_memcpy(&half, &stored, sizeof half);
  return half;
}

/* Returns a + b rounded to odd: the error of the sum (Knuth) says on which side of it the exact one lies. */
static double add_to_odd(double a, double b) {
  const double sum = a + b, b_part = sum - a, a_part = sum - b_part;
  const double error = (a - a_part) + (b - b_part);
  int64_t bits;
  __builtin_memcpy(&bits, &sum, sizeof bits);
  if ((error < 0 || error > 0) && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1;
  double result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}

float fmaf(float a, float b, float c) { return (float)add_to_odd((double)a * b, c); }

/* Splits a double in two parts of 26 digits, whose products are exact (Dekker). */
static inline double upper_part(double value) {
  const double scaled = value * 0x1.0000002p27;
  return scaled - (scaled - value);
}

double fma(double a, double b, double c) {
  const double a_high = upper_part(a), a_low = a - a_high, b_high = upper_part(b), b_low = b - b_high;
  const double product = a * b;
  const double product_error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
  const double sum = product + c, c_part = sum - product, product_part = sum - c_part;
  const double sum_error = (product - product_part) + (c - c_part);
  const double result = sum + add_to_odd(product_error, sum_error);
  return result == result ? result : product + c; /* infinite and NaN */
}
