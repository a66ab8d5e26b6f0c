// frexp.
#include "prelude.h"
#include "exponent.h"
#include "pointers.h"

INLINE float frexp_float(float x, int *exponent) {
    bool ordinary = has_exponent(x);
    int n = choose(ordinary, float_exponent(x) + 1, 0);
    *exponent = n;
    return choose(ordinary, scaled(x, -n), flushed(x));
}
INLINE half frexp_half(half x, int *exponent) { return (half)frexp_float((float)x, exponent); }
WITH_POINTER(frexp, int)
