// log |gamma|, and the sine its reflection needs.
#pragma once
#include "logarithm.h"
#include "circle.h"

#define HALF_LOG_TWO_PI 0x1.d67f1c864beb5p-1

// log(gamma(x)) for x >= 1/2, relatively exact at its zeros 1 and 2.
INLINE double lgamma_right(double x) {
    double log_x = log_of(x), inverse = 1.0 / x;
    double large = FMA(x - 0.5, log_x, HALF_LOG_TWO_PI - x) + inverse * stirling_over(inverse * inverse);
    double y = choose(x < 1.5, x + 1.0, x);
    double small = (y - 2.0) * lgamma_over(y) - choose(x < 1.5, log_x, 0.0);
    large = choose(x < INF, large, x);
    return choose(x < 3.0, small, large);
}

INLINE double sine_of_pi(float x) {
    uint quadrant;
    double r = reduce_pi(x, &quadrant) * PI;
    return sin_in(r, quadrant);
}

// Left of 1/2 by gamma(x) gamma(1 - x) = pi / sin(pi x). The sign is 0 at the poles.
INLINE double lgamma_signed(float x, int *sign) {
    bool left = x < 0.5f;
    double right = lgamma_right(choose(left, 1.0 - (double)x, (double)x)), sine = sine_of_pi(x);
    bool pole = (x <= 0.0f) & (sine == 0.0);
    *sign = choose(pole, 0, choose((x < 0.0f) & (sine < 0.0), -1, 1));
    double reflected = log_of(PI / ABS(sine)) - right;
    reflected = choose(pole | (ABS(x) == (float)INF), INF, reflected);
    return choose(left, reflected, right);
}
