// remquo.
#include "prelude.h"
#include "remainder.h"

INLINE half remquo_half(half x, half y, int *quotient) { return (half)remquo_float((float)x, (float)y, quotient); }

#define REMQUO(type, space)                                          \
    FN type remquo(type x, type y, space int *pointer) {             \
        int quotient = 0;                                            \
        type rest = remquo_##type(x, y, &quotient);                  \
        *pointer = quotient;                                         \
        return rest;                                                 \
    }                                                                \
    REMQUO_VECTOR(type, space, 2)                                    \
    REMQUO_VECTOR(type, space, 3)                                    \
    REMQUO_VECTOR(type, space, 4)                                    \
    REMQUO_VECTOR(type, space, 8)                                    \
    REMQUO_VECTOR(type, space, 16)
#define REMQUO_VECTOR(type, space, width)                                                  \
    FN type##width remquo(type##width x, type##width y, space int##width *pointer) {       \
        type##width rest = 0;                                                              \
        int##width quotients = 0;                                                          \
        for (int lane = 0; lane < width; ++lane) {                                         \
            int quotient = 0;                                                              \
            rest[lane] = remquo_##type(x[lane], y[lane], &quotient);                       \
            quotients[lane] = quotient;                                                    \
        }                                                                                  \
        *pointer = quotients;                                                              \
        return rest;                                                                       \
    }
#define REMQUO_EVERYWHERE(type) \
    REMQUO(type, __private)     \
    REMQUO(type, __global)      \
    REMQUO(type, __local)       \
    REMQUO(type, __generic)
REMQUO_EVERYWHERE(float)
REMQUO_EVERYWHERE(half)
