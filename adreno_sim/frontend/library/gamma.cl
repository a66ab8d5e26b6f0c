// lgamma, tgamma.
#include "prelude.h"
#include "exponential.h"
#include "gamma.h"

INLINE double lgamma_(float x) {
    int sign;
    return lgamma_signed(x, &sign);
}

// By the logarithm, whose absolute error in double is far below a float's relative one.
INLINE double tgamma_(float x) {
    bool left = x < 0.5f;
    double right = exp2_of(lgamma_right(limit(choose(left, 1.0 - (double)x, (double)x), 0.5, 60.0)) * LOG2E);
    double sine = sine_of_pi(x);
    double reflected = choose((x < 0.0f) & (sine == 0.0), QNAN, PI / (sine * right));
    return choose(left, reflected, right);
}

UNARY(lgamma, lgamma_)
UNARY(tgamma, tgamma_)
