// 2^t of a double, and 2^t - 1 without loss near 0; |t| < 1000 or NaN.
#pragma once
#include "coefficients.h"

// 2^(rounded - ROUNDER), |rounded - ROUNDER| < 1022.
INLINE double power_of_two(double rounded) { return as_double((as_ulong(rounded) + 1023) << 52); }

INLINE double exp2_of(double t) {
    double rounded = t + ROUNDER, scale = power_of_two(rounded), rest = t - (rounded - ROUNDER);
    return FMA(scale, rest * exp2m1_over(rest), scale);
}

INLINE double exp2m1_of(double t) {
    double rounded = t + ROUNDER, scale = power_of_two(rounded), rest = t - (rounded - ROUNDER);
    return FMA(scale, rest * exp2m1_over(rest), scale - 1.0);
}

// e^x - 1 for x of a float's range; beyond [-90, 90] it is as good as -1 or infinite to a float.
INLINE double expm1_of(double x) { return exp2m1_of(limit(x, -90.0, 90.0) * LOG2E); }
