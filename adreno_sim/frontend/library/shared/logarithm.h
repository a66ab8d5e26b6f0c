// Logarithms of a double.
#pragma once
#include "coefficients.h"

// The nearest power of two to a positive normal x, as an exponent: x / 2^result lies in [sqrt(1/2), sqrt(2)).
INLINE int exponent_of(double x) {
    return (int)((as_ulong(x) - as_ulong(0x1.6a09e667f3bcdp-1)) >> 32) >> 20;
}
INLINE double mantissa_of(double x, int exponent) { return as_double(as_ulong(x) - ((ulong)(uint)exponent << 52)); }

// log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1], relatively exact at 0.
INLINE double log1p_near(double f) {
    double s = f / (f + 2.0);
    return (s + s) * atanh_over(s * s);
}

// What is left to say where the formula does not hold: log of infinity, zero, a negative number and NaN.
INLINE double log_ends(double x, double result) {
    result = choose(x < INF, result, x);
    return choose(x > 0.0, result, choose(x == 0.0, -INF, QNAN));
}

INLINE double log2_of(double x) {
    int k = exponent_of(x);
    return log_ends(x, FMA(log1p_near(mantissa_of(x, k) - 1.0), LOG2E, (double)k));
}

INLINE double log_of(double x) {
    int k = exponent_of(x);
    return log_ends(x, FMA((double)k, LN2, log1p_near(mantissa_of(x, k) - 1.0)));
}

// log(1 + x): near 1 the mantissa less one is x itself, which the sum would round.
INLINE double log1p_of(double x) {
    double sum = 1.0 + x;
    bool near = (x > -0.2925) & (x < 0.414);
    int k = choose(near, 0, exponent_of(sum));
    double f = choose(near, x, mantissa_of(sum, k) - 1.0);
    return log_ends(sum, FMA((double)k, LN2, log1p_near(f)));
}
