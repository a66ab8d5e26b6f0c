// asin, acos, atan, atan2 and their pi forms.
#include "prelude.h"
#include "coefficients.h"

// asin(x) of |x| <= 1/2, else asin(sqrt((1 - |x|) / 2)), which is half of acos |x|; positive.
INLINE double asin_half(double magnitude) {
    double square = choose(magnitude > 0.5, 0.5 - 0.5 * magnitude, magnitude * magnitude);
    double root = choose(magnitude > 0.5, SQRT(square), magnitude);
    return root * asin_over(square);
}
INLINE double asin_(double x) {
    double magnitude = ABS(x), part = asin_half(magnitude);
    return COPYSIGN(choose(magnitude > 0.5, FMA(-2.0, part, PI / 2), part), x);
}
INLINE double acos_(double x) {
    double magnitude = ABS(x), part = asin_half(magnitude);
    double low = PI / 2 - COPYSIGN(part, x), high = choose(x < 0.0, FMA(-2.0, part, PI), 2.0 * part);
    return choose(magnitude > 0.5, high, low);
}

// atan(y / x) of non-negative y and x, not both zero or infinite. The quotient is turned by -pi/4 or -pi/2 so that
// its magnitude stays below tan(pi/8); one division serves all.
INLINE double atan_positive(double y, double x) {
    bool steep = y > 0x1.3504f333f9de6p+1 * x, middle = y > 0x1.a827999fcef32p-2 * x;
    double above = choose(steep, -x, choose(middle, y - x, y));
    double below = choose(steep, y, choose(middle, y + x, x));
    double turn = choose(steep, PI / 2, choose(middle, PI / 4, 0.0)), t = above / below;
    return FMA(t, atan_over(t * t), turn);
}
INLINE double atan_(double x) { return COPYSIGN(atan_positive(ABS(x), 1.0), x); }

INLINE double atan2_(double y, double x) {
    double up = ABS(y), along = ABS(x);
    bool infinite = (up == INF) & (along == INF), origin = (up == 0.0) & (along == 0.0);
    up = choose(infinite, 1.0, up);
    along = choose(infinite | origin, 1.0, along);
    double angle = atan_positive(up, along);
    return COPYSIGN(choose(as_long(x) < 0, PI - angle, angle), y);
}

INLINE double asinpi_(double x) { return asin_(x) * RECIP_PI; }
INLINE double acospi_(double x) { return acos_(x) * RECIP_PI; }
INLINE double atanpi_(double x) { return atan_(x) * RECIP_PI; }
INLINE double atan2pi_(double y, double x) { return atan2_(y, x) * RECIP_PI; }

UNARY(asin, asin_)
UNARY(acos, acos_)
UNARY(atan, atan_)
UNARY(asinpi, asinpi_)
UNARY(acospi, acospi_)
UNARY(atanpi, atanpi_)
BINARY(atan2, atan2_)
BINARY(atan2pi, atan2pi_)
