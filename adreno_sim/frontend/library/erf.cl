// erf, erfc.
#include "prelude.h"
#include "exponential.h"

INLINE double erf_(double magnitude) {
    double near = magnitude * erf_over(magnitude * magnitude);
    double far = 1.0 - exp2_of(log2_erfc(limit(magnitude, 1.0, 4.0)));
    return choose(magnitude < 1.0, near, far);
}

INLINE double erfc_(double x) {
    double magnitude = ABS(x), near = 1.0 - x * erf_over(x * x);
    double y = limit(magnitude, 1.0, 10.2), inverse = 1.0 / (y + 3.0);
    double far = scaled_erfc((y - 3.0) * inverse) * inverse * exp2_of(y * y * -LOG2E);
    return choose(magnitude < 1.0, near, choose(x < 0.0, 2.0 - far, far));
}

ODD(erf, erf_)
UNARY(erfc, erfc_)
