// sin, cos, tan; their pi forms.
#include "prelude.h"
#include "circle.h"

INLINE double sin_(float x) {
    uint quadrant;
    double r = reduce(x, &quadrant);
    return sin_in(r, quadrant);
}
INLINE double cos_(float x) {
    uint quadrant;
    double r = reduce(x, &quadrant);
    return sin_in(r, quadrant + 1);
}
INLINE double tan_(float x) {
    uint quadrant;
    double r = reduce(x, &quadrant);
    return tan_in(r, quadrant);
}

// Zeros of the pi forms: sinpi has the sign of its argument, cospi is positive.
INLINE double sinpi_(float x) {
    uint quadrant;
    double r = reduce_pi(x, &quadrant) * PI, result = sin_in(r, quadrant);
    return choose(result == 0.0, (double)x * 0.0, result);
}
INLINE double cospi_(float x) {
    uint quadrant;
    double r = reduce_pi(x, &quadrant) * PI;
    return sin_in(r, quadrant + 1) + 0.0;
}
// tanpi at whole numbers: 0 with the sign of the argument, the other for odd ones; infinite half way between.
INLINE double tanpi_(float x) {
    uint quadrant;
    double r = reduce_pi(x, &quadrant) * PI, result = tan_in(r, quadrant);
    double end = flip_if(choose(quadrant & 1, INF, (double)x * 0.0), quadrant >> 1);
    return choose(r == 0.0, end, result);
}

UNARY(sin, sin_)
UNARY(cos, cos_)
UNARY(tan, tan_)
UNARY(sinpi, sinpi_)
UNARY(cospi, cospi_)
UNARY(tanpi, tanpi_)
UNARY_FAST(sin, sin_)
UNARY_FAST(cos, cos_)
UNARY_FAST(tan, tan_)
