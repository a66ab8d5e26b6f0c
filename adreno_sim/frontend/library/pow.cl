// pow, powr, pown, rootn: 2^(y log2 |x|) with the signs and the exceptional values of C99's pow.
#include "prelude.h"
#include "exponential.h"
#include "logarithm.h"

INLINE double power(double magnitude, double y) { return exp2_of(limit(y * log2_of(magnitude), -160.0, 130.0)); }

INLINE double with_sign(double magnitude, bool negative) { return choose(negative, -magnitude, magnitude); }

INLINE double pow_(double x, double y) {
    double magnitude = ABS(x), half_y = 0.5 * y;
    bool whole = FLOOR(y) == y, odd = whole & (FLOOR(half_y) != half_y);
    bool one = (y == 0.0) | (x == 1.0) | ((magnitude == 1.0) & (ABS(y) == INF));
    double result = with_sign(power(magnitude, y), odd & (as_long(x) < 0));
    result = choose((x < 0.0) & (x != -INF) & !whole, QNAN, result);
    return choose(one, 1.0, result);
}

INLINE double powr_(double x, double y) { return choose(x < 0.0, QNAN, power(ABS(x), y)); }

INLINE double pown_(double x, int n) {
    return choose(n == 0, 1.0, with_sign(power(ABS(x), (double)n), (n & 1) & (as_long(x) < 0)));
}

INLINE double rootn_(double x, int n) {
    double magnitude = exp2_of(limit(log2_of(ABS(x)) / (double)n, -160.0, 130.0));
    bool odd = n & 1;
    return choose((n == 0) | ((x < 0.0) & !odd), QNAN, with_sign(magnitude, odd & (as_long(x) < 0)));
}

BINARY(pow, pow_)
BINARY(powr, powr_)
FN float native_powr(float x, float y) { return (float)powr_(x, y); }
FN float half_powr(float x, float y) { return (float)powr_(x, y); }
FN float pown(float x, int n) { return (float)pown_(x, n); }
FN half pown(half x, int n) { return (half)(float)pown_((float)x, n); }
FN float rootn(float x, int n) { return (float)rootn_(x, n); }
FN half rootn(half x, int n) { return (half)(float)rootn_((float)x, n); }
