// sqrt, rsqrt, cbrt, hypot; native_ and half_ division.
#include "prelude.h"

// A third of the exponent and a linear guess for the rest (5% off), then Halley's step twice.
INLINE double halley(double y, double x) {
    double cube = y * y * y;
    return y * ((cube + 2.0 * x) / (2.0 * cube + x));
}
INLINE double cbrt_(double magnitude) {
    uint high = (uint)(as_ulong(magnitude) >> 32);
    double y = as_double((ulong)(high / 3 + 0x2a9f7893u) << 32);
    y = halley(halley(y, magnitude), magnitude);
    // Where subnormals count as 0 one comes here as what is not above 0, and its product is 0, the argument itself is not.
    return choose((magnitude > 0.0) & (magnitude < INF), y, magnitude * magnitude);
}

INLINE double hypot_(double x, double y) {
    double length = SQRT(FMA(x, x, y * y));
    return choose((ABS(x) == INF) | (ABS(y) == INF), INF, length);
}

INLINE float sqrt_(float x) { return SQRT(x); }
INLINE double rsqrt_(double x) { return 1.0 / SQRT(x); }
INLINE float recip_(float x) { return 1.0f / x; }

UNARY(sqrt, sqrt_)
UNARY(rsqrt, rsqrt_)
ODD(cbrt, cbrt_)
BINARY(hypot, hypot_)
UNARY_FAST(sqrt, sqrt_)
UNARY_FAST(rsqrt, rsqrt_)
UNARY_FAST(recip, recip_)
FN float native_divide(float x, float y) { return x / y; }
FN float half_divide(float x, float y) { return x / y; }
