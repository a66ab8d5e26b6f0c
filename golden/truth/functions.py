"""Functions of one float: the C text of their value and of their slope, and how exact OpenCL requires them to be."""

from __future__ import annotations

import re

from ...records import dataclass


@dataclass(frozen=True)
class Function:
    """value, slope: C text over x and, for the slope, the value v. ulps, half_ulps: the largest error that OpenCL allows (full
    profile) in single precision and in half (cl_khr_fp16).

    edge: the domain begins at 0, where a rounding may leave it. vanishes: it is 0 of every large negative number, also of one
    that a device may have taken out of its type's range.
    """

    value: str
    slope: str
    ulps: float
    edge: bool = False
    vanishes: bool = False
    half_ulps: float = 2


FUNCTIONS = {
    "exp": Function("exp(x)", "v", 3, vanishes=True),
    "exp2": Function("exp2(x)", "v * 0.6931471805599453", 3, vanishes=True),
    "exp10": Function("exp10(x)", "v * 2.302585092994046", 3, vanishes=True),
    "log": Function("log(x)", "1 / x", 3, edge=True),
    "log2": Function("log2(x)", "1.4426950408889634 / x", 3, edge=True),
    "log10": Function("log10(x)", "0.4342944819032518 / x", 3, edge=True),
    "log1p": Function("log1p(x)", "1 / (1 + x)", 2),
    "sqrt": Function("sqrt(x)", "0.5 / v", 3, edge=True, half_ulps=0.5),
    "rsqrt": Function("rsqrt(x)", "0.5 * v / x", 2, edge=True, half_ulps=1),
    "sigmoid": Function("sigmoid(x)", "v * (1 - v)", 6, vanishes=True, half_ulps=3.5),
    "tanh": Function("tanh(x)", "1 - v * v", 5, half_ulps=5),  # TVM's own quotient of polynomials, in halves
    "erf": Function("erf(x)", "1.1283791670955126 * exp(-x * x)", 16, half_ulps=4),
    "sin": Function("sin(x)", "cos(x)", 4),
    "cos": Function("cos(x)", "sin(x)", 4),
    "tan": Function("tan(x)", "1 + v * v", 5),
    "asin": Function("asin(within_one(x))", "1 / sqrt(1 - x * x)", 4),
    "acos": Function("acos(within_one(x))", "1 / sqrt(1 - x * x)", 4),
    "atan": Function("atan(x)", "1 / (1 + x * x)", 5),
    "sinh": Function("sinh(x)", "cosh(x)", 4),
    "cosh": Function("cosh(x)", "sinh(x)", 4),
    "asinh": Function("asinh(x)", "1 / sqrt(1 + x * x)", 4),
    "acosh": Function("acosh(above_one(x))", "1 / sqrt(x * x - 1)", 4),
    "atanh": Function("atanh(within_one(x))", "1 / (1 - x * x)", 5),
}
"""By TVM's name."""

STEPS = {
    "floor": ("floor", 0.0), "ceil": ("ceil", 0.0), "trunc": ("trunc", 0.0),
    "round": ("nearbyint", 0.5), "nearbyint": ("nearbyint", 0.5),
}  # fmt: skip
"""Functions that round to whole numbers -> the same in C, and how far their edges lie from whole numbers. TVM's targets round a
half to even, by either name."""

DIVISION_ULPS = 2.5, 0.5
POWER_ULPS = 16.0, 4.0
"""Of floats and of halves."""


def substitute(text: str, x: str, v: str = "") -> str:
    """C text over x and v with these in their place."""
    return re.sub(r"\b[xv]\b", lambda match: {"x": x, "v": v}[match[0]], text)


def scale_of(ulps: float, half_ulps: float, unit: str) -> str:
    """C text: how often the variance of a correct rounding (half an ulp) that of a function with this largest error is.

    unit: of its type; a twin computes halves as floats, and as exactly as these.
    """
    wide, half = (max(1.0, (2 * most) ** 2) for most in (ulps, half_ulps))
    return f"(({unit})->half ? {half!r} : {wide!r})" if wide != half else repr(wide)
