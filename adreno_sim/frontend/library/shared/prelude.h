// What every unit of the built-in library starts from: the operations that are single instructions, constants, selection.
// Types come from the front end's base header.
//
// The units are compiled without clang's own OpenCL built-ins, so that a definition here gets the very mangled
// name that a kernel calls. Contraction is off; where a fused multiply-add is meant, FMA says so. Nothing may be
// undefined for any input: no float-to-integer conversion out of range, no over-wide shift, no division by a
// zero integer.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

#define FN __attribute__((overloadable)) // a built-in
#define INLINE static inline             // a helper of one

// Lane-wise on scalars and vectors of any float type.
#define FMA(a, b, c) __builtin_elementwise_fma((a), (b), (c))
#define SQRT(x) __builtin_elementwise_sqrt(x)
#define ABS(x) __builtin_elementwise_abs(x)
#define FLOOR(x) __builtin_elementwise_floor(x)
#define TRUNC(x) __builtin_elementwise_trunc(x)
#define COPYSIGN(magnitude, sign) __builtin_elementwise_copysign((magnitude), (sign))

#define INF __builtin_inf()
#define QNAN __builtin_nan("")

#define LOG2E 0x1.71547652b82fep+0
#define LN2 0x1.62e42fefa39efp-1
#define LOG2_10 0x1.a934f0979a371p+1
#define LOG10_2 0x1.34413509f79ffp-2
#define PI 0x1.921fb54442d18p+1
#define RECIP_PI 0x1.45f306dc9c883p-2

// Adding this to |x| < 2^51 rounds x to the nearest integer, which is then in the low bits of the sum.
#define ROUNDER 0x1.8p+52

// Unlike ?: these have both values computed, and so become selects, never branches. For the same reason & and |
// stand for && and ||.
INLINE FN double choose(bool condition, double yes, double no) { return condition ? yes : no; }
INLINE FN float choose(bool condition, float yes, float no) { return condition ? yes : no; }
INLINE FN int choose(bool condition, int yes, int no) { return condition ? yes : no; }
INLINE FN uint choose(bool condition, uint yes, uint no) { return condition ? yes : no; }

// x as arithmetic gives it: where denormals are flushed, they are equal to zero.
INLINE float flushed(float x) { return choose(x == 0.0f, COPYSIGN(0.0f, x), x); }

// x within [low, high]; a NaN stays.
INLINE double limit(double x, double low, double high) {
    x = choose(x < low, low, x);
    return choose(x > high, high, x);
}

// The built-in `name` of float and half from a helper on doubles. Half goes by way of float: conversions between
// half and double are library calls on most machines.
#define UNARY(name, call)                                      \
    FN float name(float x) { return (float)call(x); }          \
    FN half name(half x) { return (half)(float)call((float)x); }
#define BINARY(name, call)                                                  \
    FN float name(float x, float y) { return (float)call(x, y); }           \
    FN half name(half x, half y) { return (half)(float)call((float)x, (float)y); }
// An odd function from its helper for magnitudes. The sign is given to the float: LLVM may move a copysign behind the
// conversion to half, and would then convert the sign from double.
#define ODD(name, call)                                                           \
    FN float name(float x) { return COPYSIGN((float)call(ABS(x)), x); }           \
    FN half name(half x) { return (half)COPYSIGN((float)call(ABS((float)x)), (float)x); }
// native_ and half_ functions exist for float only.
#define UNARY_FAST(name, call)                                  \
    FN float native_##name(float x) { return (float)call(x); }  \
    FN float half_##name(float x) { return (float)call(x); }
