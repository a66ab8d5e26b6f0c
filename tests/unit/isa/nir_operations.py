"""What NIR's arithmetic means, on the bits of one scalar: a second reading of Mesa's page of operations, apart from the
translation.

A value is (bits, integer), a float its IEEE pattern. Rounding is NumPy's; functions without a rule of their own are computed in
double.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

Scalar = tuple[int, int]
FLOATS = {16: (np.float16, np.uint16), 32: (np.float32, np.uint32), 64: (np.float64, np.uint64)}


def signed(value: Scalar) -> int:
    bits, number = value
    return number - (1 << bits) if bits and number >> (bits - 1) & 1 else number


def whole(bits: int, number: int) -> Scalar:
    return bits, int(number) & ((1 << bits) - 1)


def real(value: Scalar) -> np.floating:
    kind, pattern = FLOATS[value[0]]
    return np.array(value[1], pattern).view(kind)[()]


def of_real(bits: int, number: float) -> Scalar:
    kind, pattern = FLOATS[bits]
    with np.errstate(all="ignore"):
        return bits, int(np.array(number, kind).view(pattern))


def _clip(bits: int, number: int, is_signed: bool) -> Scalar:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    return whole(bits, min(max(number, low), high))


def _divide(one: int, other: int) -> int:
    found = abs(one) // abs(other) if other else 0
    return found if (one < 0) == (other < 0) else -found


def _fused(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    with np.errstate(all="ignore"):
        return of_real(a[0], np.longdouble(real(a)) * np.longdouble(real(b)) + np.longdouble(real(c)))


def _in_double(function: Callable[[float], float]) -> Callable[..., Scalar]:
    def compute(value: Scalar) -> Scalar:
        with np.errstate(all="ignore"):
            return of_real(value[0], function(np.float64(real(value))))

    return compute


def _without_denormals(value: Scalar) -> Scalar:
    """What the hardware leaves of a result of 32 bits."""
    bits, pattern = value
    return (bits, pattern & 1 << 31) if bits == 32 and not pattern & 0x7F800000 else value


def _pair(function: Callable[[np.floating, np.floating], np.floating]) -> Callable[..., Scalar]:
    def compute(one: Scalar, other: Scalar) -> Scalar:
        with np.errstate(all="ignore"):
            return of_real(one[0], function(real(one), real(other)))

    return compute


def _truth(holds: object) -> Scalar:
    return 1, int(bool(holds))


def _bytes(value: Scalar, is_signed: bool) -> list[int]:
    parts = [(8, value[1] >> shift & 255) for shift in (0, 8, 16, 24)]
    return [signed(part) if is_signed else part[1] for part in parts]


def _dot(first: bool, second: bool, saturates: bool) -> Callable[..., Scalar]:
    def compute(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        products = sum(x * y for x, y in zip(_bytes(a, first), _bytes(b, second), strict=True))
        is_signed = first or second
        total = products + (signed(c) if is_signed else c[1])
        return _clip(32, total, is_signed) if saturates else whole(32, total)

    return compute


def _high(is_signed: bool) -> Callable[..., Scalar]:
    def compute(a: Scalar, b: Scalar) -> Scalar:
        product = signed(a) * signed(b) if is_signed else a[1] * b[1]
        return whole(a[0], product >> a[0])

    return compute


def _low_24(is_signed: bool) -> Callable[..., Scalar]:
    def compute(a: Scalar, b: Scalar) -> Scalar:
        parts = [(24, value[1] & 0xFFFFFF) for value in (a, b)]
        return whole(32, math.prod(signed(part) if is_signed else part[1] for part in parts))

    return compute


OPERATIONS: dict[str, Callable[..., Scalar]] = {
    "mov": lambda a: a,
    "iadd": lambda a, b: whole(a[0], a[1] + b[1]), "isub": lambda a, b: whole(a[0], a[1] - b[1]),
    "imul": lambda a, b: whole(a[0], a[1] * b[1]), "udiv": lambda a, b: whole(a[0], a[1] // b[1] if b[1] else 0),
    "idiv": lambda a, b: whole(a[0], _divide(signed(a), signed(b))), "umod": lambda a, b: whole(a[0], a[1] % b[1] if b[1] else 0),
    "irem": lambda a, b: whole(a[0], signed(a) - _divide(signed(a), signed(b)) * signed(b)),
    "ishl": lambda a, b: whole(a[0], a[1] << (b[1] & (a[0] - 1))), "ushr": lambda a, b: whole(a[0], a[1] >> (b[1] & (a[0] - 1))),
    "ishr": lambda a, b: whole(a[0], signed(a) >> (b[1] & (a[0] - 1))), "iand": lambda a, b: whole(a[0], a[1] & b[1]),
    "ior": lambda a, b: whole(a[0], a[1] | b[1]), "ixor": lambda a, b: whole(a[0], a[1] ^ b[1]),
    "inot": lambda a: whole(a[0], ~a[1]), "ineg": lambda a: whole(a[0], -a[1]), "iabs": lambda a: whole(a[0], abs(signed(a))),
    "imin": lambda a, b: min(a, b, key=signed), "imax": lambda a, b: max(a, b, key=signed), "umin": min, "umax": max,
    "ieq": lambda a, b: _truth(a == b), "ine": lambda a, b: _truth(a != b), "ilt": lambda a, b: _truth(signed(a) < signed(b)),
    "ige": lambda a, b: _truth(signed(a) >= signed(b)), "ult": lambda a, b: _truth(a < b), "uge": lambda a, b: _truth(a >= b),
    "iadd_sat": lambda a, b: _clip(a[0], signed(a) + signed(b), True), "uadd_sat": lambda a, b: _clip(a[0], a[1] + b[1], False),
    "isub_sat": lambda a, b: _clip(a[0], signed(a) - signed(b), True), "usub_sat": lambda a, b: _clip(a[0], a[1] - b[1], False),
    "ihadd": lambda a, b: whole(a[0], signed(a) + signed(b) >> 1), "uhadd": lambda a, b: whole(a[0], a[1] + b[1] >> 1),
    "irhadd": lambda a, b: whole(a[0], signed(a) + signed(b) + 1 >> 1), "urhadd": lambda a, b: whole(a[0], a[1] + b[1] + 1 >> 1),
    "imul_high": _high(True), "umul_high": _high(False), "imul24": _low_24(True), "umul24": _low_24(False),
    "bit_count": lambda a: (32, a[1].bit_count()), "ufind_msb": lambda a: whole(32, a[1].bit_length() - 1),
    "find_lsb": lambda a: whole(32, (a[1] & -a[1]).bit_length() - 1),
    "bitfield_reverse": lambda a: (32, int(f"{a[1]:032b}"[::-1], 2)),
    "unpack_64_2x32_split_x": lambda a: whole(32, a[1]), "unpack_64_2x32_split_y": lambda a: whole(32, a[1] >> 32),
    "pack_64_2x32_split": lambda a, b: (64, a[1] | b[1] << 32), "bcsel": lambda a, b, c: b if a[1] else c,
    "udot_4x8_uadd": _dot(False, False, False), "udot_4x8_uadd_sat": _dot(False, False, True),
    "sdot_4x8_iadd": _dot(True, True, False), "sdot_4x8_iadd_sat": _dot(True, True, True),
    "sudot_4x8_iadd": _dot(True, False, False), "sudot_4x8_iadd_sat": _dot(True, False, True),
    "fadd": _pair(lambda a, b: a + b), "fsub": _pair(lambda a, b: a - b), "fmul": _pair(lambda a, b: a * b),
    "fmin": _pair(np.fmin), "fmax": _pair(np.fmax), "ffma": _fused,
    "fneg": lambda a: whole(a[0], a[1] ^ 1 << (a[0] - 1)), "fabs": lambda a: whole(a[0], a[1] & ~(1 << (a[0] - 1))),
    "ffloor": _in_double(np.floor), "fceil": _in_double(np.ceil), "ftrunc": _in_double(np.trunc),
    "fround_even": _in_double(np.rint), "fsqrt": _in_double(np.sqrt),
    "frsq": _in_double(lambda x: 1 / np.sqrt(x)), "frcp": lambda a: _without_denormals(_in_double(lambda x: 1 / x)(a)),
    "fsign": _in_double(np.sign), "fsin": _in_double(np.sin), "fcos": _in_double(np.cos), "fexp2": _in_double(np.exp2),
    "flog2": _in_double(np.log2),
    "feq": lambda a, b: _truth(real(a) == real(b)), "fneu": lambda a, b: _truth(real(a) != real(b)),
    "flt": lambda a, b: _truth(real(a) < real(b)), "fge": lambda a, b: _truth(real(a) >= real(b)),
}  # fmt: skip
"""By the name of the operation."""

_CONVERSION = re.compile(r"([fiub])2([fiu])(\d+)(_rt[a-z]+)?")


def convert(name: str, value: Scalar) -> Scalar | None:
    """Returns what a conversion gives; None where the name is none."""
    match = _CONVERSION.fullmatch(name)
    if match is None:
        return None
    source, target, bits = match[1], match[2], int(match[3])
    if source == "f":
        number = real(value)
        if target == "f":
            if match[4] == "_rtz":
                return _toward_zero(number)
            return of_real(bits, number)
        return whole(bits, int(np.trunc(number)) if np.isfinite(number) else 0)
    number = signed(value) if source == "i" else value[1]
    return of_real(bits, number) if target == "f" else whole(bits, number)


def _toward_zero(number: np.floating) -> Scalar:
    bits, pattern = of_real(16, number)
    return bits, pattern - (abs(real((bits, pattern)).astype(np.float64)) > abs(np.float64(number)))
