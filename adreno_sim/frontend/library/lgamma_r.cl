// lgamma_r.
#include "prelude.h"
#include "gamma.h"
#include "pointers.h"

INLINE float lgamma_r_float(float x, int *sign) { return (float)lgamma_signed(x, sign); }
INLINE half lgamma_r_half(half x, int *sign) { return (half)(float)lgamma_signed((float)x, sign); }
WITH_POINTER(lgamma_r, int)
