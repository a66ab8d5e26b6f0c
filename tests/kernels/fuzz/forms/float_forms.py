"""Templates whose results are floats or halves, exact in every implementation: each result is the same bits, or NaN.

`number_T(x)` and `plain_T(x)` (see `prelude`) remove what the standard leaves open: the first NaN, the second also -0.
"""

from __future__ import annotations

from ..templates import Template as F

ARITHMETIC = [
    F("float/add", "float_like", "@T + @T", weight=4),
    F("float/subtract", "float_like", "@T - @T", weight=3),
    F("float/multiply", "float_like", "@T * @T", weight=4),
    F("float/divide", "float_like", "@T / @T", weight=2),
    F("float/multiply and add", "float_like", "@T * @T + @T", weight=3),
    F("float/multiply and subtract", "float_like", "@T - @T * @T"),
    F("float/negate", "float_like", "-@T"),
    F("float/with scalar", "float_like vector", "@T * @E"),
    F("float/with scalar", "float_like vector", "@E - @T"),
    F("float/conditional", "float_like", "@c ? @T : @T"),
    F("float/conditional by lane", "float_like vector", "@S ? @T : @T"),
]

EXACT = [
    F("float/fma", "float_like", "fma(@T, @T, @T)", weight=2),
    F("float/sqrt", "float_like", "sqrt(@T)"),
    F("float/fabs", "float_like", "fabs(@T)"),
    F("float/floor", "float_like", "floor(@T)"),
    F("float/ceil", "float_like", "ceil(@T)"),
    F("float/trunc", "float_like", "trunc(@T)"),
    F("float/rint", "float_like", "rint(@T)"),
    F("float/round", "float_like", "round(@T)"),
    F("float/fmax", "float_like", "fmax(plain_$T(@T), plain_$T(@T))"),
    F("float/fmin", "float_like", "fmin(plain_$T(@T), plain_$T(@T))"),
    F("float/fmin with nan", "float_like", "fmin(@T, ($T)0.5f)"),
    F("float/fmax with scalar", "float_like vector", "fmax(plain_$T(@T), plain_$E(@E))"),
    F("float/max", "float_like", "max(plain_$T(@T), plain_$T(@T))"),
    F("float/min", "float_like", "min(plain_$T(@T), plain_$T(@T))"),
    F("float/clamp", "float_like", "clamp(plain_$T(@T), ($T)-2.5f, ($T)9.0f)"),
    F("float/maxmag", "float_like", "maxmag(plain_$T(@T), plain_$T(@T))"),
    F("float/minmag", "float_like", "minmag(plain_$T(@T), plain_$T(@T))"),
    F("float/fmod", "float_like", "fmod(@T, @T)"),
    F("float/remainder", "float_like", "remainder(@T, @T)"),
    F("float/fdim", "float_like", "fdim(@T, @T)"),
    F("float/copysign", "float_like", "copysign(@T, number_$T(@T))"),
    F("float/ldexp", "float", "ldexp(@T, @I % ($I)20)"),
    F("float/nextafter", "float_like", "nextafter(plain_$T(@T), plain_$T(@T))"),
    F("float/logb", "float_like", "logb(@T)"),
    F("float/sign", "float_like", "sign(plain_$T(@T))"),
    F("float/step", "float_like", "step(plain_$T(@T), plain_$T(@T))"),
    F("float/select", "float_like", "select(@T, @T, @S)"),
    F("float/bitselect", "float_like", "bitselect(number_$T(@T), number_$T(@T), number_$T(@T))"),
    F("float/nan", "float scalar", "nan(@U)"),
]

CONVERSIONS = [
    F("conversion/integer to float", "float_like", "convert_$T$R(@X)", "integer", 3),
    F("conversion/integer to float by cast", "float_like scalar", "($T)@X", "integer"),
    F("conversion/half and float", "float_like", "convert_$T$R(@X)", "other float", 3),
    F("conversion/same float", "float_like", "convert_$T(@T)"),
]

FLOAT_FORMS = ARITHMETIC + EXACT + CONVERSIONS
