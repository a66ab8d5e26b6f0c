// Exact remainders of floats by long division in double: every step takes up to 28 bits of the quotient.
#pragma once
#include "exponent.h"

// |x| - q |y| in [0, |y|) of finite |x| and finite y != 0; q modulo 2^32 goes to `quotient`. Each product below is
// exact: q has at most 29 bits and the scaled divisor 24; and so is each difference, a multiple of both operands' units.
INLINE double long_division(double x, double y, uint *quotient) {
    int gap = (int)(as_ulong(x) >> 52) - (int)(as_ulong(y) >> 52);
    uint q = 0;
    while (true) {
        int shift = choose(gap > 28, gap - 28, 0);
        double divisor = y * as_double((ulong)(shift + 1023) << 52);
        double digits = TRUNC(x / divisor);
        x -= digits * divisor;
        bool over = x < 0.0;
        x = choose(over, x + divisor, x);
        digits = choose(over, digits - 1.0, digits);
        q += choose(shift < 32, (uint)digits << (shift & 31), 0u);
        if (shift == 0) break;
        gap = shift;
    }
    *quotient = q;
    return x;
}

// x is finite and y neither zero nor NaN: a remainder exists. With y infinite it is x itself.
INLINE bool divisible(float x, float y) { return (ABS(x) < (float)INF) & (ABS(y) > 0.0f); }

INLINE float fmod_float(float x, float y) {
    bool divide = divisible(x, y) & (ABS(y) <= ABS(x));
    uint quotient;
    double rest = long_division(choose(divide, ABS(x), 0.0f), choose(divide, ABS(y), 1.0f), &quotient);
    return choose(divide, COPYSIGN((float)rest, x), choose(divisible(x, y), x, (float)QNAN));
}

// x - n y with n = x / y rounded to nearest even; the quotient keeps n's sign and its low seven bits.
INLINE float remquo_float(float x, float y, int *quotient) {
    bool divide = divisible(x, y) & (ABS(y) < (float)INF);
    double divisor = choose(divide, ABS(y), 1.0f);
    uint n;
    double rest = long_division(choose(divide, ABS(x), 0.0f), divisor, &n);
    bool up = (2.0 * rest > divisor) | ((2.0 * rest == divisor) & n);
    rest = choose(up, rest - divisor, rest);
    n = choose(up, n + 1, n) & 0x7f;
    bool negative = (as_uint(x) ^ as_uint(y)) >> 31;
    *quotient = choose(divide, choose(negative, -(int)n, (int)n), 0);
    float signed_rest = (float)choose(as_uint(x) >> 31, -rest, rest);
    return choose(divide, signed_rest, choose(divisible(x, y), x, (float)QNAN));
}
