// degrees, radians, mix, step, smoothstep, sign; fdim, maxmag, minmag.
#include "prelude.h"

INLINE double degrees_(double x) { return x * (180.0 / PI); }
INLINE double radians_(double x) { return x * (PI / 180.0); }

INLINE float mix_(float x, float y, float a) { return x + (y - x) * a; }
INLINE float step_(float edge, float x) { return choose(x < edge, 0.0f, 1.0f); }
INLINE float smoothstep_(float low, float high, float x) {
    float t = (x - low) / (high - low);
    t = choose(t < 0.0f, 0.0f, choose(t > 1.0f, 1.0f, t));
    return t * t * (3.0f - 2.0f * t);
}
INLINE float sign_(float x) {
    float one = COPYSIGN(1.0f, x);
    return choose(x == 0.0f, x, choose(x != x, 0.0f, one));
}

INLINE float fdim_(float x, float y) { return choose(x <= y, 0.0f, x - y); }
// Where the magnitudes are equal, or one operand is NaN, these are fmax and fmin.
INLINE float maxmag_(float x, float y) {
    float larger = choose((x < y) | (x != x), y, x);
    return flushed(choose(ABS(x) > ABS(y), x, choose(ABS(y) > ABS(x), y, larger)));
}
INLINE float minmag_(float x, float y) {
    float smaller = choose((y < x) | (x != x), y, x);
    return flushed(choose(ABS(x) < ABS(y), x, choose(ABS(y) < ABS(x), y, smaller)));
}

UNARY(degrees, degrees_)
UNARY(radians, radians_)
UNARY(sign, sign_)
BINARY(step, step_)
BINARY(fdim, fdim_)
BINARY(maxmag, maxmag_)
BINARY(minmag, minmag_)
FN float mix(float x, float y, float a) { return mix_(x, y, a); }
FN half mix(half x, half y, half a) { return (half)mix_((float)x, (float)y, (float)a); }
FN float smoothstep(float low, float high, float x) { return smoothstep_(low, high, x); }
FN half smoothstep(half low, half high, half x) { return (half)smoothstep_((float)low, (float)high, (float)x); }
