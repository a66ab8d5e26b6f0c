// sinh, cosh, tanh, asinh, acosh, atanh.
#include "prelude.h"
#include "exponential.h"
#include "logarithm.h"

// The odd ones for a magnitude.
INLINE double tanh_(double x) {
    double e = exp2m1_of(limit(x, 0.0, 10.0) * (2 * LOG2E));
    return e / (e + 2.0);
}
INLINE double sinh_(double x) {
    double e = expm1_of(x);
    return 0.5 * (e + e / (e + 1.0));
}
INLINE double cosh_(double x) {
    double e = exp2_of(limit(ABS(x), 0.0, 90.0) * LOG2E);
    return 0.5 * (e + 1.0 / e);
}
INLINE double asinh_(double x) {
    double bounded = limit(x, 0.0, 0x1p128), square = bounded * bounded;
    double value = log1p_of(bounded + square / (1.0 + SQRT(1.0 + square)));
    return choose(x < INF, value, x);
}
INLINE double acosh_(double x) {
    double above = x - 1.0;
    return choose(x >= 1.0, log1p_of(above + SQRT(above * (above + 2.0))), QNAN);
}
INLINE double atanh_(double x) { return choose(x <= 1.0, 0.5 * log1p_of(2.0 * x / (1.0 - x)), QNAN); }

ODD(sinh, sinh_)
UNARY(cosh, cosh_)
ODD(tanh, tanh_)
ODD(asinh, asinh_)
UNARY(acosh, acosh_)
ODD(atanh, atanh_)
