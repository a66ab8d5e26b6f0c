// remquo.
#include "prelude.h"
#include "remainder.h"
#include "pointers.h"

INLINE half remquo_half(half x, half y, int *quotient) { return (half)remquo_float((float)x, (float)y, quotient); }

#undef DEFINE
#ifndef WIDTH
#define DEFINE(name, type, second)                       \
    FN type name(type x, type y, SPACE second *pointer) { \
        second other = 0;                                \
        type result = name##_##type(x, y, &other);       \
        *pointer = other;                                \
        return result;                                   \
    }
#else
#define DEFINE(name, type, second)                                                \
    FN WIDE(type) name(WIDE(type) x, WIDE(type) y, SPACE WIDE(second) *pointer) { \
        WIDE(type) results = 0;                                                   \
        WIDE(second) others = 0;                                                  \
        for (int lane = 0; lane < WIDTH; ++lane) {                                \
            second other = 0;                                                     \
            results[lane] = name##_##type(x[lane], y[lane], &other);              \
            others[lane] = other;                                                 \
        }                                                                         \
        *pointer = others;                                                        \
        return results;                                                           \
    }
#endif
WITH_POINTER(remquo, int)
