// Built-ins with a second result through a pointer: name(x, pointer) from the helper name_type(x, private pointer),
// for every address space, and lane by lane for every vector width.
#pragma once

#define WITH_POINTER(name, type, other)    \
    POINTER_SCALAR(name, type, other)      \
    POINTER_VECTOR(name, type, other, 2)   \
    POINTER_VECTOR(name, type, other, 3)   \
    POINTER_VECTOR(name, type, other, 4)   \
    POINTER_VECTOR(name, type, other, 8)   \
    POINTER_VECTOR(name, type, other, 16)

#define POINTER_SCALAR(name, type, other)                \
    POINTER_SCALAR_IN(name, type, other, __private)      \
    POINTER_SCALAR_IN(name, type, other, __global)       \
    POINTER_SCALAR_IN(name, type, other, __local)        \
    POINTER_SCALAR_IN(name, type, other, __generic)
#define POINTER_SCALAR_IN(name, type, other, space)      \
    FN type name(type x, space other *pointer) {         \
        other second = 0;                                \
        type first = name##_##type(x, &second);          \
        *pointer = second;                               \
        return first;                                    \
    }

#define POINTER_VECTOR(name, type, other, width)             \
    POINTER_VECTOR_IN(name, type, other, width, __private)   \
    POINTER_VECTOR_IN(name, type, other, width, __global)    \
    POINTER_VECTOR_IN(name, type, other, width, __local)     \
    POINTER_VECTOR_IN(name, type, other, width, __generic)
#define POINTER_VECTOR_IN(name, type, other, width, space)                  \
    FN type##width name(type##width x, space other##width *pointer) {       \
        type##width first = 0;                                              \
        other##width seconds = 0;                                           \
        for (int lane = 0; lane < width; ++lane) {                          \
            other second = 0;                                               \
            first[lane] = name##_##type(x[lane], &second);                  \
            seconds[lane] = second;                                         \
        }                                                                   \
        *pointer = seconds;                                                 \
        return first;                                                       \
    }
