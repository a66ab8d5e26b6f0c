// asin, acos, atan, atan2 and their pi forms.
#include "prelude.h"
#include "coefficients.h"

// asin(x) of |x| <= 1/2, else asin(sqrt((1 - |x|) / 2)), which is half of acos |x|; positive.
INLINE double asin_half(double magnitude) {
    double square = choose(magnitude > 0.5, 0.5 - 0.5 * magnitude, magnitude * magnitude);
    double root = choose(magnitude > 0.5, SQRT(square), magnitude);
    return root * asin_over(square);
}
INLINE double asin_(double magnitude) {
    double part = asin_half(magnitude);
    return choose(magnitude > 0.5, FMA(-2.0, part, PI / 2), part);
}
INLINE double acos_(double x) {
    double magnitude = ABS(x), part = asin_half(magnitude);
    double low = PI / 2 - choose(x < 0.0, -part, part), high = choose(x < 0.0, FMA(-2.0, part, PI), 2.0 * part);
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
INLINE double atan_(double magnitude) { return atan_positive(magnitude, 1.0); }

// The magnitude of atan2(y, x).
INLINE double atan2_(double y, double x) {
    double up = ABS(y), along = ABS(x);
    bool infinite = (up == INF) & (along == INF), origin = (up == 0.0) & (along == 0.0);
    up = choose(infinite, 1.0, up);
    along = choose(infinite | origin, 1.0, along);
    double angle = atan_positive(up, along);
    return choose(as_long(x) < 0, PI - angle, angle);
}

INLINE double asinpi_(double magnitude) { return asin_(magnitude) * RECIP_PI; }
INLINE double acospi_(double x) { return acos_(x) * RECIP_PI; }
INLINE double atanpi_(double magnitude) { return atan_(magnitude) * RECIP_PI; }
INLINE double atan2pi_(double y, double x) { return atan2_(y, x) * RECIP_PI; }

#define ATAN2(name, call)                                                                                          \
    FN float name(float y, float x) { return COPYSIGN((float)call(y, x), y); }                                     \
    FN half name(half y, half x) { return (half)COPYSIGN((float)call((float)y, (float)x), (float)y); }

ODD(asin, asin_)
UNARY(acos, acos_)
ODD(atan, atan_)
ODD(asinpi, asinpi_)
UNARY(acospi, acospi_)
ODD(atanpi, atanpi_)
ATAN2(atan2, atan2_)
ATAN2(atan2pi, atan2pi_)
