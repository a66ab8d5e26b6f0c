// ilogb, logb, ldexp, nextafter, nan.
#include "prelude.h"
#include "exponent.h"


INLINE int ilogb_(float x) {
    int end = choose(x == 0.0f, FP_ILOGB0, FP_ILOGBNAN); // an infinity counts as INT_MAX too
    return choose(has_exponent(x), float_exponent(x), end);
}
INLINE float logb_(float x) {
    float end = choose(x == 0.0f, -(float)INF, x * x);
    return choose(has_exponent(x), (float)float_exponent(x), end);
}

// Floats in the order of their values are sign-magnitude numbers: this makes them whole numbers in that order, and tells
// denormals apart also where arithmetic takes them for zeros.
INLINE int place_of(uint bits, uint sign) { return choose((bits & sign) != 0, -(int)(bits & (sign - 1)), (int)bits); }
// The neighbour of x in the direction of y, both given by their bits: next to 0 is the smallest number of y's sign.
INLINE uint neighbour(uint x, uint y, uint sign, bool nan, uint quiet) {
    int from = place_of(x, sign), to = place_of(y, sign);
    bool away = (from < to) == (from > 0);
    uint next = choose(from == 0, choose(to > 0, 1u, sign | 1), choose(away, x + 1, x - 1));
    return choose(nan, quiet, choose(from == to, y, next));
}
INLINE float nextafter_(float x, float y) {
    return as_float(neighbour(as_uint(x), as_uint(y), 0x80000000, (x != x) | (y != y), as_uint((float)QNAN)));
}
INLINE half nextafter_half(half x, half y) {
    bool nan = ((float)x != (float)x) | ((float)y != (float)y);
    return as_half((ushort)neighbour(as_ushort(x), as_ushort(y), 0x8000, nan, 0x7e00));
}

FN int ilogb(float x) { return ilogb_(x); }
FN int ilogb(half x) { return ilogb_((float)x); }
FN float logb(float x) { return logb_(x); }
FN half logb(half x) { return (half)logb_((float)x); }
FN float ldexp(float x, int n) { return scaled(x, n); }
FN half ldexp(half x, int n) { return (half)scaled((float)x, n); }
FN float nextafter(float x, float y) { return nextafter_(x, y); }
FN half nextafter(half x, half y) { return nextafter_half(x, y); }
FN float nan(uint code) { return as_float(0x7fc00000 | (code & 0x3fffff)); }
FN half nan(ushort code) { return as_half((ushort)(0x7e00 | (code & 0x1ff))); }
