/* Soft float of the C runtime under libFuzzer, beside the processor and libm, which judge every bit but those of a NaN. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

float own_extend(_Float16 half);
_Float16 own_truncate(float value);
float own_fmaf(float a, float b, float c);
double own_fma(double a, double b, double c);

static void require(int is_so) {
    if (!is_so) abort();
}

static int is_safe(double value) { /* where fma of doubles is exact, as soft_float.c says */
    const double size = fabs(value);
    return size == 0 || (size > 0x1p-400 && size < 0x1p400);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 24) return 0;
    float a, b, c;
    double x, y, z;
    memcpy(&a, data, 4), memcpy(&b, data + 4, 4), memcpy(&c, data + 8, 4);
    memcpy(&x, data, 8), memcpy(&y, data + 8, 8), memcpy(&z, data + 16, 8);
    const volatile float volatile_a = a; /* else the compiler computes it */
    const _Float16 half = own_truncate(a), known = (_Float16)volatile_a;
    require(isnan(a) ? isnan((float)half) : !memcmp(&half, &known, 2));
    const float wide = own_extend(half), known_wide = (float)half;
    require(isnan(wide) ? isnan(known_wide) : !memcmp(&wide, &known_wide, 4));
    const float sum = own_fmaf(a, b, c), known_sum = fmaf(a, b, c);
    require(isnan(known_sum) ? isnan(sum) : !memcmp(&sum, &known_sum, 4));
    if (is_safe(x) && is_safe(y) && is_safe(z)) {
        const double total = own_fma(x, y, z), known_total = fma(x, y, z);
        require(total == known_total);
    }
    return 0;
}
