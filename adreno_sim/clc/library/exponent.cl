// ilogb, logb, ldexp, nextafter, nan.
#include "prelude.h"
#include "exponent.h"

#define FP_ILOGB0 (-0x7fffffff - 1)
#define FP_ILOGBNAN 0x7fffffff

INLINE int ilogb_(float x) {
    int end = x == 0.0f ? FP_ILOGB0 : FP_ILOGBNAN; // an infinity counts as INT_MAX too
    return has_exponent(x) ? float_exponent(x) : end;
}
INLINE float logb_(float x) {
    double end = x == 0.0f ? -INF : (double)x * (double)x;
    return has_exponent(x) ? (float)float_exponent(x) : (float)end;
}

// Floats in the order of their values are integers in the order of sign-magnitude numbers; 0 and -0 are one step.
INLINE float nextafter_(float x, float y) {
    uint bits = as_uint(x), magnitude = bits & 0x7fffffff;
    bool away = magnitude == 0 || (x < y) == (x > 0.0f);
    uint step = magnitude == 0 ? (as_uint(y) & 0x80000000) | 1 : away ? bits + 1 : bits - 1;
    return x == y ? y : x != x || y != y ? (float)NAN : as_float(step);
}
INLINE half nextafter_half(half x, half y) {
    ushort bits = as_ushort(x), magnitude = bits & 0x7fff;
    bool away = magnitude == 0 || ((float)x < (float)y) == ((float)x > 0.0f);
    ushort step = magnitude == 0 ? (as_ushort(y) & 0x8000) | 1 : away ? bits + 1 : bits - 1;
    return (float)x == (float)y ? y : (float)x != (float)x || (float)y != (float)y ? as_half((ushort)0x7e00) : as_half(step);
}

FN int ilogb(float x) { return ilogb_(x); }
FN int ilogb(half x) { return ilogb_((float)x); }
FN float logb(float x) { return logb_(x); }
FN half logb(half x) { return (half)logb_((float)x); }
FN float ldexp(float x, int n) { return scaled(x, n); }
FN half ldexp(half x, int n) { return (half)scaled((float)x, n < -60 ? -60 : n > 60 ? 60 : n); }
FN float nextafter(float x, float y) { return nextafter_(x, y); }
FN half nextafter(half x, half y) { return nextafter_half(x, y); }
FN float nan(uint code) { return as_float(0x7fc00000 | (code & 0x3fffff)); }
FN half nan(ushort code) { return as_half((ushort)(0x7e00 | (code & 0x1ff))); }
