// log, log2, log10, log1p.
#include "prelude.h"
#include "logarithm.h"

INLINE double log10_of(double x) {
    int k = exponent_of(x);
    return log_ends(x, FMA((double)k, LOG10_2, log1p_near(mantissa_of(x, k) - 1.0) * (LOG10_2 * LOG2E)));
}
INLINE double log1p_(double x) { return choose(x == 0.0, x, log1p_of(x)); }

UNARY(log, log_of)
UNARY(log2, log2_of)
UNARY(log10, log10_of)
UNARY(log1p, log1p_)
UNARY_FAST(log, log_of)
UNARY_FAST(log2, log2_of)
UNARY_FAST(log10, log10_of)
