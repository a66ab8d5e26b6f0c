// What every unit of the built-in library starts from: types, and the operations that are single instructions.
//
// The units are compiled without clang's own OpenCL built-ins, so that a definition here gets the very mangled
// name that a kernel calls. Contraction is off; where a fused multiply-add is meant, FMA says so. Nothing may be
// undefined for any input: no float-to-integer conversion out of range, no over-wide shift, no division by a
// zero integer.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define VECTORS(type)                                           \
    typedef type type##2 __attribute__((ext_vector_type(2)));   \
    typedef type type##3 __attribute__((ext_vector_type(3)));   \
    typedef type type##4 __attribute__((ext_vector_type(4)));   \
    typedef type type##8 __attribute__((ext_vector_type(8)));   \
    typedef type type##16 __attribute__((ext_vector_type(16)));
VECTORS(char) VECTORS(uchar) VECTORS(short) VECTORS(ushort) VECTORS(int) VECTORS(uint) VECTORS(long) VECTORS(ulong)
VECTORS(half) VECTORS(float)

#define FN __attribute__((overloadable)) // a built-in
#define INLINE static inline             // a helper of one

#define as_int(x) __builtin_astype((x), int)
#define as_uint(x) __builtin_astype((x), uint)
#define as_float(x) __builtin_astype((x), float)
#define as_long(x) __builtin_astype((x), long)
#define as_ulong(x) __builtin_astype((x), ulong)
#define as_double(x) __builtin_astype((x), double)
#define as_short(x) __builtin_astype((x), short)
#define as_ushort(x) __builtin_astype((x), ushort)
#define as_half(x) __builtin_astype((x), half)

// Lane-wise on scalars and vectors of any float type.
#define FMA(a, b, c) __builtin_elementwise_fma((a), (b), (c))
#define SQRT(x) __builtin_elementwise_sqrt(x)
#define ABS(x) __builtin_elementwise_abs(x)
#define FLOOR(x) __builtin_elementwise_floor(x)
#define TRUNC(x) __builtin_elementwise_trunc(x)
#define COPYSIGN(magnitude, sign) __builtin_elementwise_copysign((magnitude), (sign))

#define INF __builtin_inf()
#define NAN __builtin_nan("")

#define LOG2E 0x1.71547652b82fep+0
#define LN2 0x1.62e42fefa39efp-1
#define LOG2_10 0x1.a934f0979a371p+1
#define LOG10_2 0x1.34413509f79ffp-2
#define PI 0x1.921fb54442d18p+1
#define RECIP_PI 0x1.45f306dc9c883p-2

// Adding this to |x| < 2^51 rounds x to the nearest integer, which then stands in the low bits.
#define ROUNDER 0x1.8p+52

INLINE double nearest(double x) { return (x + ROUNDER) - ROUNDER; }
INLINE uint nearest_bits(double x) { return (uint)as_ulong(x + ROUNDER); }
// 2^nearest(x) for |x| < 1022.
INLINE double power_of_two(double x) { return as_double((as_ulong(x + ROUNDER) + 1023) << 52); }

// x within [low, high]; a NaN stays.
INLINE double limit(double x, double low, double high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

// The built-in `name` of float and half from a helper on doubles. Half goes by way of float: conversions between
// half and double are library calls on most machines.
#define UNARY(name, call)                                      \
    FN float name(float x) { return (float)call(x); }          \
    FN half name(half x) { return (half)(float)call((float)x); }
#define BINARY(name, call)                                                  \
    FN float name(float x, float y) { return (float)call(x, y); }           \
    FN half name(half x, half y) { return (half)(float)call((float)x, (float)y); }
// native_ and half_ functions exist for float only.
#define UNARY_FAST(name, call)                                  \
    FN float native_##name(float x) { return (float)call(x); }  \
    FN float half_##name(float x) { return (float)call(x); }
