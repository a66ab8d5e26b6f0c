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

// The neighbour of x, given by its bits and sign bit, in the direction of y: floats in the order of their values are
// sign-magnitude numbers, and next to 0 is the smallest of y's sign.
INLINE uint step_towards(uint bits, uint sign, float x, float y) {
    bool away = (x < y) == (x > 0.0f);
    return choose(x == 0.0f, choose(y > 0.0f, 1u, sign | 1), choose(away, bits + 1, bits - 1));
}
INLINE float nextafter_(float x, float y) {
    float next = as_float(step_towards(as_uint(x), 0x80000000, x, y));
    return choose(x == y, y, choose((x != x) | (y != y), (float)QNAN, next));
}
INLINE half nextafter_half(half x, half y) {
    float from = (float)x, to = (float)y;
    uint next = step_towards(as_ushort(x), 0x8000, from, to);
    return as_half((ushort)choose(from == to, (uint)as_ushort(y), choose((from != from) | (to != to), 0x7e00u, next)));
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
