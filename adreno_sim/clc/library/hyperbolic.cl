// sinh, cosh, tanh, asinh, acosh, atanh.
#include "prelude.h"
#include "exponential.h"
#include "logarithm.h"

INLINE double tanh_(double x) {
    double e = exp2m1_of(limit(ABS(x), 0.0, 10.0) * (2 * LOG2E));
    return COPYSIGN(e / (e + 2.0), x);
}
INLINE double sinh_(double x) {
    double e = expm1_of(ABS(x));
    return COPYSIGN(0.5 * (e + e / (e + 1.0)), x);
}
INLINE double cosh_(double x) {
    double e = exp2_of(limit(ABS(x), 0.0, 90.0) * LOG2E);
    return 0.5 * (e + 1.0 / e);
}
INLINE double asinh_(double x) {
    double magnitude = limit(ABS(x), 0.0, 0x1p128), square = magnitude * magnitude;
    double value = log1p_of(magnitude + square / (1.0 + SQRT(1.0 + square)));
    return COPYSIGN(choose(magnitude < 0x1p128, value, ABS(x)), x); // infinity and NaN
}
INLINE double acosh_(double x) {
    double above = x - 1.0;
    return choose(x >= 1.0, log1p_of(above + SQRT(above * (above + 2.0))), QNAN);
}
INLINE double atanh_(double x) {
    double magnitude = ABS(x);
    return choose(magnitude <= 1.0, COPYSIGN(0.5 * log1p_of(2.0 * magnitude / (1.0 - magnitude)), x), QNAN);
}

UNARY(sinh, sinh_)
UNARY(cosh, cosh_)
UNARY(tanh, tanh_)
UNARY(asinh, asinh_)
UNARY(acosh, acosh_)
UNARY(atanh, atanh_)
