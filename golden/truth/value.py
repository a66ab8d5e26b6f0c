"""A value in the C text of a truth: its expression, its type, and the expression of its variance."""

from __future__ import annotations

import re

import numpy as np

from ...base.integers.interval import Interval
from ...records import dataclass

FLOATS = ("float16", "bfloat16", "float32", "float64")
"""Float types, in the order of the units that a truth is given."""

DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Bits of a float type's significand."""

HALVES = ("float16", "bfloat16")

_C_TYPES = {"bool": "bool_t"} | {f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}


class Unmodelled(Exception):
    """A PrimFunc holds something that no truth is made of; the text names it."""


@dataclass(frozen=True)
class Value:
    """text: a C expression without side effects, a double for a float type. q: that of its variance; None = it is exact.

    native: that of the value as halves give it, computed in the order of the PrimFunc; None = as text.
    loaded: it depends on what a tensor holds. range: in which an integer lies, where known. stored: in a step of a sum, it has
    what the steps before stored.
    """

    text: str
    dtype: str
    q: str | None = None
    native: str | None = None
    loaded: bool = False
    range: Interval | None = None
    stored: bool = False

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def as_native(self) -> str:
        return self.native or self.text

    @property
    def variance(self) -> str:
        return self.q or "0.0"


def c_type(dtype: str) -> str:
    """The C type of values of `dtype`. Raises Unmodelled for one that has none."""
    if dtype in FLOATS:
        return "double"
    if dtype not in _C_TYPES:
        raise Unmodelled(f"values of type {dtype}")
    return _C_TYPES[dtype]


def unit(dtype: str) -> str:
    """The C expression of a float type's unit."""
    return f"&U[{FLOATS.index(dtype)}]"


def round_native(text: str, dtype: str) -> str:
    """The C expression of a value rounded as a device's halves are; wider types are taken unchanged."""
    return f"{_ROUND[dtype]}({text}, {unit(dtype)})" if dtype in _ROUND else text


_ROUND = {"float16": "to_half", "bfloat16": "to_bfloat"}


def product_variance(a: Value, b: Value) -> str:
    """The C expression of the variance of a product before it is rounded."""
    if a.q is None and b.q is None:
        return "0.0"
    if b.q is None:
        return f"(double){b.text} * {b.text} * {a.q}"
    if a.q is None:
        return f"(double){a.text} * {a.text} * {b.q}"
    return f"mul_q({a.text}, {a.q}, {b.text}, {b.q})"


def literal(value: float) -> str:
    """A double in C, to the bit."""
    if np.isnan(value):
        return "QUIET"
    if np.isinf(value):
        return "INF" if value > 0 else "(-INF)"
    return f"({float(value).hex()})"


SIZE = re.compile(r"\b(\d+)LL\b")
"""A number in C text that becomes a variable where programs share their code (`sharing.py`)."""


def fixed(text: str) -> str:
    """C text in which every number stays one that clang knows."""
    return SIZE.sub(r"\1", text)


def as_printed(value: float) -> float:
    """A constant as TVM prints it into a kernel, with 7 digits: a kernel may be off by what they leave out."""
    return float(f"{value:.6e}")


def round_to(value: float, dtype: str) -> float:
    """A constant as a kernel holds it."""
    if dtype == "bfloat16":
        bits = np.float32(value).view(np.uint32)
        return float(((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32))
    with np.errstate(over="ignore"):
        return float(np.dtype(dtype).type(value))


def is_denormal(value: float, dtype: str) -> bool:
    """Whether a float type holds a number as a denormal one."""
    return 0 < abs(value) < 2.0 ** {"float16": -14, "float64": -1022}.get(dtype, -126)


def constant_of(value: float, dtype: str) -> Value:
    """A constant of the model; what its printed digits leave out is its variance."""
    exact = round_to(value, dtype)
    if np.isnan(exact):
        return Value(literal(exact), dtype, "0.0")  # what is made of it is not exact
    off = round_to(as_printed(value), dtype) - exact
    return Value(literal(exact), dtype, literal(off * off) if off and np.isfinite(off) else None)
