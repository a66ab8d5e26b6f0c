// Built-ins with a second result through a pointer: name(x, pointer) from the helper name_type(x, private pointer).
//
// There is one for every type, address space and vector width; a unit that uses this is compiled for one space and
// width at a time: SPACE is "__private", "__global", "__local" or "__generic"; WIDTH is 2, 3, 4, 8, 16, or absent.
#pragma once

#define WITH_POINTER(name, second)  \
    DEFINE(name, float, second)     \
    DEFINE(name, half, second)
#define WITH_POINTER_TO_SAME(name)  \
    DEFINE(name, float, float)      \
    DEFINE(name, half, half)

#ifndef WIDTH
#define DEFINE(name, type, second)              \
    FN type name(type x, SPACE second *pointer) { \
        second other = 0;                       \
        type result = name##_##type(x, &other); \
        *pointer = other;                       \
        return result;                          \
    }
#else
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define WIDE(type) PASTE(type, WIDTH)
#define DEFINE(name, type, second)                              \
    FN WIDE(type) name(WIDE(type) x, SPACE WIDE(second) *pointer) { \
        WIDE(type) results = 0;                                 \
        WIDE(second) others = 0;                                \
        for (int lane = 0; lane < WIDTH; ++lane) {              \
            second other = 0;                                   \
            results[lane] = name##_##type(x[lane], &other);     \
            others[lane] = other;                               \
        }                                                       \
        *pointer = others;                                      \
        return results;                                         \
    }
#endif
