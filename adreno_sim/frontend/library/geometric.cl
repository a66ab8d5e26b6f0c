// cross, dot, length, distance, normalize and the fast_ forms of these, up to four components.
#include "prelude.h"

#define CONVERT(v, type) __builtin_convertvector((v), type)
#define SUM2(v) ((v).x + (v).y)
#define SUM3(v) ((v).x + (v).y + (v).z)
#define SUM4(v) ((v).x + (v).y + (v).z + (v).w)
#define ANY2(v) ((v).x | (v).y)
#define ANY3(v) ((v).x | (v).y | (v).z)
#define ANY4(v) ((v).x | (v).y | (v).z | (v).w)

// Squares of floats neither overflow nor vanish in double. The direction of a vector with infinite components is that of
// these alone, each counting as 1 or -1.
#define VECTOR(n)                                                                                              \
    INLINE FN double norm(double##n v) { return SQRT(SUM##n(v * v)); }                                         \
    INLINE FN float##n direction(float##n v) {                                                                 \
        double size = norm(CONVERT(v, double##n));                                                             \
        return CONVERT(CONVERT(v, double##n) * (1.0 / choose(size == 0.0, 1.0, size)), float##n);              \
    }                                                                                                          \
    INLINE FN float##n finite(float##n v) {                                                                    \
        int##n infinite = ABS(v) == (float)INF, any = ANY##n(infinite);                                        \
        return any ? (infinite ? COPYSIGN((float##n)1.0f, v) : 0.0f * v) : v;                                  \
    }                                                                                                          \
    FN float dot(float##n a, float##n b) { return SUM##n(a * b); }                                             \
    FN float length(float##n v) { return (float)norm(CONVERT(v, double##n)); }                                 \
    FN float distance(float##n a, float##n b) { return (float)norm(CONVERT(a, double##n) - CONVERT(b, double##n)); } \
    FN float##n normalize(float##n v) { return direction(finite(v)); }                                         \
    FN float fast_length(float##n v) { return length(v); }                                                     \
    FN float fast_distance(float##n a, float##n b) { return distance(a, b); }                                  \
    FN float##n fast_normalize(float##n v) { return direction(v); }                                            \
    FN half dot(half##n a, half##n b) { return (half)dot(CONVERT(a, float##n), CONVERT(b, float##n)); }        \
    FN half length(half##n v) { return (half)length(CONVERT(v, float##n)); }                                   \
    FN half distance(half##n a, half##n b) { return (half)distance(CONVERT(a, float##n), CONVERT(b, float##n)); } \
    FN half##n normalize(half##n v) { return CONVERT(normalize(CONVERT(v, float##n)), half##n); }
VECTOR(2)
VECTOR(3)
VECTOR(4)

// A single component is a vector too.
INLINE float direction_(float v) { return choose((v == 0.0f) | (v != v), v, COPYSIGN(1.0f, v)); }
FN float dot(float a, float b) { return a * b; }
FN float length(float v) { return ABS(v); }
FN float distance(float a, float b) { return ABS(a - b); }
FN float normalize(float v) { return direction_(v); }
FN float fast_length(float v) { return ABS(v); }
FN float fast_distance(float a, float b) { return ABS(a - b); }
FN float fast_normalize(float v) { return direction_(v); }
FN half dot(half a, half b) { return (half)((float)a * (float)b); }
FN half length(half v) { return (half)ABS((float)v); }
FN half distance(half a, half b) { return (half)ABS((float)a - (float)b); }
FN half normalize(half v) { return (half)direction_((float)v); }

FN float3 cross(float3 a, float3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }
FN float4 cross(float4 a, float4 b) { return (float4)(cross(a.xyz, b.xyz), 0.0f); }
FN half3 cross(half3 a, half3 b) { return CONVERT(cross(CONVERT(a, float3), CONVERT(b, float3)), half3); }
FN half4 cross(half4 a, half4 b) { return (half4)(cross(a.xyz, b.xyz), (half)0.0f); }
