"""Templates for every kind: parts of vectors put together, taken apart, reinterpreted, loaded."""

from __future__ import annotations

from ..templates import Template as F

VECTOR_FORMS = [
    F("vector/splat", "vector", "($T)(@E)"),
    F("vector/low half", "integer", "(@X).lo", "double width", 0.5),
    F("vector/high half", "integer", "(@X).hi", "double width", 0.5),
    F("vector/even", "float_like", "(@X).even", "double width", 0.5),
    F("vector/odd", "float_like", "(@X).odd", "double width", 0.5),
    F("vector/shuffle", "vector integer", "shuffle(@X, @U)", "shuffled"),
    F("vector/shuffle2", "vector !half", "shuffle2(@X, @X, @U)", "shuffled"),
    F("as_type/integer", "integer", "as_$T(@X)", "same bits integer"),
    F("as_type/float to integer", "integer", "as_$T(number_$X(@X))", "same bits float"),
    F("as_type/float", "float_like", "number_$T(as_$T(@X))", "same bits integer", 0.5),
]

LOADS = [
    F("load/global", "scalar", "in_$K[@i & 127]", weight=3),
    F("load/global pointer", "scalar", "*(in_$K + (@i & 63) + (@u & 63u))"),
    F("load/vload", "vector", "vload$W(@i & 3, in_$K + (@i & 31))", weight=2),
    F("load/vector pointer", "vector", "((global const $T *)in_$K)[@i & 7]", weight=2),
    F("load/reinterpreted pointer", "integer", "((global const $T *)in_uchar)[@i & 3]"),
    F("load/constant", "scalar", "con_$K[@i & 127]"),
    F("load/vload constant", "vector", "vload$W(@i & 3, con_$K + (@i & 31))"),
    F("load/vload_half", "float scalar", "number_float(vload_half(@i & 127, (global const half *)in_ushort))"),
    F("load/vload_half", "float vector", "number_$T(vload_half$W(@i & 3, (global const half *)in_ushort + (@i & 31)))"),
]
