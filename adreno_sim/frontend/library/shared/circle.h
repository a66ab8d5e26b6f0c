// Sine and cosine of a double in [-pi/4, pi/4], and the reduction of a float's angle to it.
#pragma once
#include "coefficients.h"

INLINE double sin_near(double r) { return r * sin_over(r * r); }
INLINE double cos_near(double r) { return cos_of(r * r); }

// Bits 32 i to 32 i + 31 of 2/pi after the binary point, as far as a float's exponent reaches.
#define TWO_OVER_PI_0 0xa2f9836eu
#define TWO_OVER_PI_1 0x4e441529u
#define TWO_OVER_PI_2 0xfc2757d1u
#define TWO_OVER_PI_3 0xf534ddc0u
#define TWO_OVER_PI_4 0xdb629599u
#define TWO_OVER_PI_5 0x3c439041u
#define TWO_OVER_PI_6 0xfe5163abu

// One of four neighbours, selected without a table.
#define PICK(index, a, b, c, d) choose((index) == 0, (a), choose((index) == 1, (b), choose((index) == 2, (c), (d))))

// Payne and Hanek's reduction of a finite float |x| >= 2^30: x = m 2^e with a 24-bit integer m. Bits of 2^e 2/pi
// worth 4 or more only add whole turns; the 96 bits below, times m, give the quadrant and 94 bits of the rest.
INLINE double reduce_huge(float x, uint *quadrant) {
    uint bits = as_uint(x), mantissa = (bits & 0x7fffff) | 0x800000;
    uint start = ((bits >> 23) & 0xff) - 152, index = start >> 5, shift = start & 31;
    ulong a = PICK(index, TWO_OVER_PI_0, TWO_OVER_PI_1, TWO_OVER_PI_2, TWO_OVER_PI_3);
    ulong b = PICK(index, TWO_OVER_PI_1, TWO_OVER_PI_2, TWO_OVER_PI_3, TWO_OVER_PI_4);
    ulong c = PICK(index, TWO_OVER_PI_2, TWO_OVER_PI_3, TWO_OVER_PI_4, TWO_OVER_PI_5);
    ulong d = PICK(index, TWO_OVER_PI_3, TWO_OVER_PI_4, TWO_OVER_PI_5, TWO_OVER_PI_6);
    uint high = (uint)(((a << 32 | b) << shift) >> 32);
    uint middle = (uint)(((b << 32 | c) << shift) >> 32);
    uint low = (uint)(((c << 32 | d) << shift) >> 32);
    ulong product_low = (ulong)low * mantissa;
    ulong product_middle = (ulong)middle * mantissa + (product_low >> 32);
    ulong top = ((ulong)(high * mantissa) << 32) + product_middle;
    uint rest = (uint)product_low;
    ulong fraction = top << 2 | rest >> 30; // of a quadrant, in units of 2^-64
    uint turn = (uint)(top >> 62) + (uint)(fraction >> 63);
    double r = (double)(long)fraction * 0x1p-64 + (double)(rest & 0x3fffffff) * 0x1p-94;
    bool negative = bits >> 31;
    *quadrant = choose(negative, 0u - turn, turn);
    r *= PI / 2;
    return choose(negative, -r, r);
}

// x - quadrant pi/2, in [-pi/4, pi/4] except for rounding; the quadrant counts modulo 4. Infinity gives NaN.
INLINE double reduce(float x, uint *quadrant) {
    double rounded = (double)x * (2 / PI) + ROUNDER, k = rounded - ROUNDER;
    double r = FMA(-k, 0x1.1a62633145c07p-54, FMA(-k, 0x1.921fb54442d18p+0, (double)x)); // pi/2 in two parts
    *quadrant = (uint)as_ulong(rounded);
    if (ABS(x) >= 0x1p30f) {
        r = reduce_huge(x, quadrant);
        r = choose(ABS(x) == (float)INF, QNAN, r);
    }
    return r;
}

// x - quadrant / 2, exact, in [-1/4, 1/4]. Beyond 2^24 every float is an even number.
INLINE double reduce_pi(float x, uint *quadrant) {
    double turns = (double)x * choose(ABS(x) < 0x1p24f, 2.0, 0.0), rounded = turns + ROUNDER;
    *quadrant = (uint)as_ulong(rounded);
    return 0.5 * (turns - (rounded - ROUNDER));
}

INLINE double flip_if(double x, uint odd) { return as_double(as_ulong(x) ^ (ulong)(odd & 1) << 63); }

// sin of the reduced angle and its quadrant; the cosine is the sine one quadrant on.
INLINE double sin_in(double r, uint quadrant) {
    double s = sin_near(r), c = cos_near(r);
    return flip_if(choose(quadrant & 1, c, s), quadrant >> 1);
}
INLINE double tan_in(double r, uint quadrant) {
    double s = sin_near(r), c = cos_near(r);
    bool swap = quadrant & 1;
    return choose(swap, -c, s) / choose(swap, s, c);
}
