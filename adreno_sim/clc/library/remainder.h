// Exact remainders of floats by long division in double: every step takes up to 28 bits of the quotient.
#pragma once
#include "exponent.h"

// |x| - q |y| in [0, |y|) of finite |x| and finite y != 0; q modulo 2^32 goes to `quotient`. Each product below is
// exact: q has at most 29 bits and the scaled divisor 24; and so is each difference, a multiple of both operands' units.
INLINE double long_division(double x, double y, uint *quotient) {
    int gap = (int)(as_ulong(x) >> 52) - (int)(as_ulong(y) >> 52);
    uint q = 0;
    while (true) {
        int shift = gap > 28 ? gap - 28 : 0;
        double divisor = y * as_double((ulong)(shift + 1023) << 52);
        double digits = TRUNC(x / divisor);
        x -= digits * divisor;
        bool over = x < 0.0;
        x = over ? x + divisor : x;
        digits = over ? digits - 1.0 : digits;
        q += shift < 32 ? (uint)digits << shift : 0;
        if (shift == 0) break;
        gap = shift;
    }
    *quotient = q;
    return x;
}

// x is finite and y neither zero nor NaN: a remainder exists. With y infinite it is x itself.
INLINE bool divisible(float x, float y) { return ABS(x) < (float)INF && ABS(y) > 0.0f; }

INLINE float fmod_float(float x, float y) {
    bool divide = divisible(x, y) && ABS(y) <= ABS(x);
    uint quotient;
    double rest = long_division(divide ? ABS(x) : 0.0f, divide ? ABS(y) : 1.0f, &quotient);
    float small = divisible(x, y) ? x : (float)NAN;
    return divide ? COPYSIGN((float)rest, x) : small;
}

// x - n y with n = x / y rounded to nearest even; the quotient keeps n's sign and its low seven bits.
INLINE float remquo_float(float x, float y, int *quotient) {
    bool divide = divisible(x, y) && ABS(y) < (float)INF;
    double divisor = divide ? ABS(y) : 1.0f;
    uint n;
    double rest = long_division(divide ? ABS(x) : 0.0f, divisor, &n);
    bool up = 2.0 * rest > divisor || (2.0 * rest == divisor && n & 1);
    rest = up ? rest - divisor : rest;
    n = (up ? n + 1 : n) & 0x7f;
    bool negative = (as_uint(x) ^ as_uint(y)) >> 31;
    *quotient = !divide ? 0 : negative ? -(int)n : (int)n;
    float small = divisible(x, y) ? x : (float)NAN;
    float signed_rest = (float)(as_uint(x) >> 31 ? -rest : rest);
    return divide ? signed_rest : small;
}
