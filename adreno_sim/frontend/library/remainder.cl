// fmod, remainder.
#include "prelude.h"
#include "remainder.h"

INLINE float remainder_(float x, float y) {
    int quotient;
    return remquo_float(x, y, &quotient);
}
FN float fmod(float x, float y) { return fmod_float(x, y); }
FN half fmod(half x, half y) { return (half)fmod_float((float)x, (float)y); }
FN float remainder(float x, float y) { return remainder_(x, y); }
FN half remainder(half x, half y) { return (half)remainder_((float)x, (float)y); }
