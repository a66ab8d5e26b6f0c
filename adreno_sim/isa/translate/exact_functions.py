"""Functions of the maths library as exact as OpenCL asks for, in floats: what the hardware computes by powers of 2 has an error
that grows with the argument.

They are used unless the build options allow less exact floats (-cl-fast-relaxed-math, -cl-unsafe-math-optimizations). A half is
computed as a float.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from ..program import Value
from .translation import Translation

Function = Callable[[Value], Value]

_LARGEST, _SMALLEST = 88.722839, -87.336540
"""Logarithms of the largest and of the smallest normal float."""
_SERIES = (1 / 23950080, -1 / 604800, 1 / 15120, -1 / 360, 1 / 6)
"""Of r * coth(r / 2) - 2 in powers of r * r, the highest first."""


def find_exact(translation: Translation, name: str, bits: int) -> Function | None:
    """Returns such a function for floats of so many bits; None if there is none here."""
    found = {"exp": _exp, "exp10": _exp10}.get(name)
    if found is None:
        return None
    if bits == 32:
        return lambda x: found(translation, x)
    op = translation.program.op
    return lambda x: op("f2f16_rtne", found(translation, op("f2f32", x)))


def _exp(translation: Translation, x: Value) -> Value:
    return _raise(translation, x, math.log(2), _SMALLEST, _LARGEST)


def _exp10(translation: Translation, x: Value) -> Value:
    return _raise(translation, x, math.log10(2), _SMALLEST / math.log(10), _LARGEST / math.log(10))


def _raise(translation: Translation, x: Value, step: float, smallest: float, largest: float) -> Value:
    """Returns a base to the power x; to the power `step` it is 2. That is 2 to the power of a whole number, times the exponential
    of what remains, which is below ln(2) / 2. Results that are not normal floats are 0 or infinite."""
    program = translation.program
    op = program.op

    def real(value: float) -> Value:
        return program.real(value, 32)

    half = op("bcsel", op("flt", x, real(0.0)), real(-0.5), real(0.5))
    power = op("f2i32", op("ffma", x, real(1 / step), half))
    whole = op("i2f32", power)
    high = _round_to(step, 12)  # its products with whole numbers are exact
    rest = op("ffma", whole, real(-high), x)
    scale = math.log(2) / step
    if scale != 1:
        rest = op("fmul", rest, real(scale))
    low = op("fmul", whole, real((step - high) * scale))
    r = op("fsub", rest, low)
    square = op("fmul", r, r)
    found = real(_SERIES[0])
    for factor in _SERIES[1:]:
        found = op("ffma", square, found, real(factor))
    c = op("ffma", square, op("fneg", found), r)
    quotient = op("fmul", op("fmul", r, c), op("frcp", op("fsub", real(2.0), c)))
    grown = op("fsub", real(1.0), op("fsub", op("fsub", low, quotient), rest))
    found = op("iadd", grown, op("ishl", power, program.constant(23, 32)))
    found = op("bcsel", op("flt", x, real(smallest)), real(0.0), found)
    found = op("bcsel", op("flt", x, real(largest)), found, real(math.inf))
    return op("bcsel", op("fneu", x, x), x, found)


def _round_to(value: float, bits: int) -> float:
    """Keeps so many bits of the mantissa of a float."""
    (pattern,) = struct.unpack("<I", struct.pack("<f", value))
    (found,) = struct.unpack("<f", struct.pack("<I", pattern >> (24 - bits) << (24 - bits)))
    return float(found)
