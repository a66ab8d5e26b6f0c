// exp, exp2, exp10, expm1.
#include "prelude.h"
#include "exponential.h"

INLINE double exp_(double x) { return exp2_of(limit(x * LOG2E, -160.0, 130.0)); }
INLINE double exp2_(double x) { return exp2_of(limit(x, -160.0, 130.0)); }
INLINE double exp10_(double x) { return exp2_of(limit(x * LOG2_10, -160.0, 130.0)); }
INLINE double expm1_(double x) { return choose(x == 0.0, x, expm1_of(x)); }

UNARY(exp, exp_)
UNARY(exp2, exp2_)
UNARY(exp10, exp10_)
UNARY(expm1, expm1_)
UNARY_FAST(exp, exp_)
UNARY_FAST(exp2, exp2_)
UNARY_FAST(exp10, exp10_)
