// lgamma, lgamma_r, tgamma.
#include "prelude.h"
#include "exponential.h"
#include "logarithm.h"
#include "circle.h"
#include "pointers.h"

#define HALF_LOG_TWO_PI 0x1.d67f1c864beb5p-1

// log(gamma(x)) for x >= 1/2, relatively exact at its zeros 1 and 2.
INLINE double lgamma_right(double x) {
    double log_x = log_of(x), inverse = 1.0 / x;
    double large = FMA(x - 0.5, log_x, HALF_LOG_TWO_PI - x) + inverse * stirling_over(inverse * inverse);
    double y = x < 1.5 ? x + 1.0 : x;
    double small = (y - 2.0) * lgamma_over(y) - (x < 1.5 ? log_x : 0.0);
    large = x < INF ? large : x;
    return x < 3.0 ? small : large;
}

INLINE double sine_of_pi(float x) {
    uint quadrant;
    double r = reduce_pi(x, &quadrant) * PI;
    return sin_in(r, quadrant);
}

// Left of 1/2 by gamma(x) gamma(1 - x) = pi / sin(pi x). The sign is 0 at the poles.
INLINE double lgamma_signed(float x, int *sign) {
    double right = lgamma_right(x < 0.5f ? 1.0 - (double)x : (double)x);
    double sine = sine_of_pi(x);
    bool left = x < 0.5f, pole = x <= 0.0f && sine == 0.0;
    *sign = pole ? 0 : left && sine < 0.0 ? -1 : 1;
    double reflected = log_of(PI / ABS(sine)) - right;
    reflected = pole || ABS(x) == (float)INF ? INF : reflected;
    return left ? reflected : right;
}
INLINE double lgamma_(float x) {
    int sign;
    return lgamma_signed(x, &sign);
}

INLINE double tgamma_(float x) {
    bool left = x < 0.5f;
    double right = exp2_of(lgamma_right(limit(left ? 1.0 - (double)x : (double)x, 0.5, 60.0)) * LOG2E);
    double sine = sine_of_pi(x);
    double reflected = x < 0.0f && sine == 0.0 ? NAN : PI / (sine * right);
    return left ? reflected : right;
}

UNARY(lgamma, lgamma_)
UNARY(tgamma, tgamma_)

INLINE float lgamma_r_float(float x, int *sign) { return (float)lgamma_signed(x, sign); }
INLINE half lgamma_r_half(half x, int *sign) { return (half)(float)lgamma_signed((float)x, sign); }
WITH_POINTER(lgamma_r, float, int)
WITH_POINTER(lgamma_r, half, int)
