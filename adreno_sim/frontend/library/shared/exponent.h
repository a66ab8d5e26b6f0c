// The exponent of a float's value, denormals included: as a double it is always a normal number.
#pragma once

// floor(log2 |x|) of a finite x != 0.
INLINE int float_exponent(float x) { return (int)(as_ulong((double)x) >> 52 & 0x7ff) - 1023; }
INLINE bool has_exponent(float x) { return (x != 0.0f) & (ABS(x) < (float)INF); }

// x 2^n in one rounding: no float times 2^±300 leaves a double's range, and none stays in a float's.
INLINE float scaled(float x, int n) {
    n = choose(n > 300, 300, choose(n < -300, -300, n));
    return (float)((double)x * as_double((ulong)(n + 1023) << 52));
}
