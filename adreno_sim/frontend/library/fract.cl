// fract, modf.
#include "prelude.h"
#include "pointers.h"

// In [0, 1) also where x - floor(x) rounds to 1; an infinity leaves no fraction; zeros and infinities keep their sign.
INLINE float fract_float(float x, float *whole) {
    float floor = FLOOR(x), rest = x - floor;
    *whole = floor;
    rest = choose(rest >= 1.0f, 0x1.fffffep-1f, rest);
    return choose((x == 0.0f) | (ABS(x) == (float)INF), COPYSIGN(0.0f, x), rest);
}
INLINE half fract_half(half x, half *whole) {
    float value = (float)x, floor = FLOOR(value), rest = value - floor;
    *whole = (half)floor;
    rest = choose(rest > 0x1.ffcp-1f, 0x1.ffcp-1f, rest);
    return (half)choose((value == 0.0f) | (ABS(value) == (float)INF), COPYSIGN(0.0f, value), rest);
}
INLINE float modf_float(float x, float *whole) {
    float truncated = TRUNC(x);
    *whole = truncated;
    return COPYSIGN(choose(x == truncated, 0.0f, x - truncated), x);
}
INLINE half modf_half(half x, half *whole) {
    float truncated, rest = modf_float((float)x, &truncated);
    *whole = (half)truncated;
    return (half)rest;
}
WITH_POINTER_TO_SAME(fract)
WITH_POINTER_TO_SAME(modf)
