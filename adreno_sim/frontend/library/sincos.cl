// sincos.
#include "prelude.h"
#include "circle.h"
#include "pointers.h"

INLINE float sincos_float(float x, float *cosine) {
    uint quadrant;
    double r = reduce(x, &quadrant);
    *cosine = (float)sin_in(r, quadrant + 1);
    return (float)sin_in(r, quadrant);
}
INLINE half sincos_half(half x, half *cosine) {
    float c, s = sincos_float((float)x, &c);
    *cosine = (half)c;
    return (half)s;
}
WITH_POINTER_TO_SAME(sincos)
