"""What maths functions must give: computed in long double (double where numpy has none), with OpenCL's error bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
PI = np.longdouble("3.14159265358979323846264338327950288")


@dataclass(frozen=True)
class Reference:
    """`exact` maps operands of shape (items, lanes) to the true result.

    ulp: bounds for float and half (OpenCL C 3.0, section 7.4). magnitude: where given, the bound is so many units in the
    last place of this instead of the result (sums of products may cancel).
    """

    exact: Callable[..., Array]
    ulp: tuple[float, float]
    magnitude: Callable[..., Array] | None = None


def _each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    def guarded(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.inf if x > 0 else math.nan

    return np.vectorize(guarded, otypes=[np.float64])


def _sinpi(x: Array) -> Array:
    whole = np.rint(x)
    sine = np.sin(PI * (x - whole))
    return np.where(np.fmod(whole, 2) == 0, sine, -sine)


def _cospi(x: Array) -> Array:
    turn = np.abs(np.fmod(x, 2))
    near = np.where(turn > 1, 2 - turn, turn)  # cos(pi t) for t in [0, 1]
    return np.where(near == 0.5, 0, np.where(near > 0.25, np.sin(PI * (0.5 - near)), np.cos(PI * near)))


def _powr(x: Array, y: Array) -> Array:
    special = ((x == 0) & (y == 0)) | (np.isinf(x) & (y == 0)) | ((x == 1) & np.isinf(y)) | np.isnan(x) | np.isnan(y) | (x < 0)
    return np.where(special, np.nan, np.power(np.abs(x), y))


def _rootn(x: Array, n: Array) -> Array:
    size = np.power(np.abs(x), 1 / np.where(n == 0, np.nan, n).astype(np.longdouble))
    odd = np.fmod(n, 2) != 0
    return np.where((n == 0) | ((x < 0) & ~odd), np.nan, np.where(odd, np.copysign(size, x), size))


def _smoothstep(low: Array, high: Array, x: Array) -> Array:
    t = np.clip((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


REFERENCES: dict[str, Reference] = {
    "acos": Reference(np.arccos, (4, 2)),
    "acosh": Reference(np.arccosh, (4, 2)),
    "acospi": Reference(lambda x: np.arccos(x) / PI, (5, 2)),
    "asin": Reference(np.arcsin, (4, 2)),
    "asinh": Reference(np.arcsinh, (4, 2)),
    "asinpi": Reference(lambda x: np.arcsin(x) / PI, (5, 2)),
    "atan": Reference(np.arctan, (5, 2)),
    "atan2": Reference(np.arctan2, (6, 2)),
    "atan2pi": Reference(lambda y, x: np.arctan2(y, x) / PI, (6, 2)),
    "atanh": Reference(np.arctanh, (5, 2)),
    "atanpi": Reference(lambda x: np.arctan(x) / PI, (5, 2)),
    "cbrt": Reference(np.cbrt, (2, 2)),
    "cos": Reference(np.cos, (4, 2)),
    "cosh": Reference(np.cosh, (4, 2)),
    "cospi": Reference(_cospi, (4, 2)),
    "degrees": Reference(lambda x: x * (180 / PI), (2, 2)),
    "erf": Reference(_each(math.erf), (16, 4)),
    "erfc": Reference(_each(math.erfc), (16, 4)),
    "exp": Reference(np.exp, (3, 2)),
    "exp10": Reference(lambda x: np.power(np.longdouble(10), x), (3, 2)),
    "exp2": Reference(np.exp2, (3, 2)),
    "expm1": Reference(np.expm1, (3, 2)),
    "hypot": Reference(np.hypot, (4, 2)),
    "log": Reference(np.log, (3, 2)),
    "log10": Reference(np.log10, (3, 2)),
    "log1p": Reference(np.log1p, (2, 2)),
    "log2": Reference(np.log2, (3, 2)),
    "mad": Reference(lambda x, y, z: x * y + z, (1, 1), lambda x, y, z: np.abs(x * y) + np.abs(z)),
    "mix": Reference(
        lambda x, y, a: x + (y - x) * a, (4, 4), lambda x, y, a: np.abs(x) + (np.abs(x) + np.abs(y)) * np.abs(a)
    ),
    "pow": Reference(np.power, (16, 4)),
    "pown": Reference(np.power, (16, 4)),
    "powr": Reference(_powr, (16, 4)),
    "radians": Reference(lambda x: x * (PI / 180), (2, 2)),
    "rootn": Reference(_rootn, (16, 4)),
    "rsqrt": Reference(lambda x: 1 / np.sqrt(x), (2, 1)),
    "sin": Reference(np.sin, (4, 2)),
    "sinh": Reference(np.sinh, (4, 2)),
    "sinpi": Reference(_sinpi, (4, 2)),
    "tan": Reference(np.tan, (5, 2)),
    "tanh": Reference(np.tanh, (5, 2)),
    "tgamma": Reference(_each(math.gamma), (16, 4)),
}  # fmt: skip

_TWO = ("atan2", "atan2pi", "hypot", "pow", "powr")
ARITY: dict[str, tuple[str, ...]] = dict.fromkeys(REFERENCES, ("",))
"""Operands of each function: "" of its own type, else of that kind."""
ARITY.update(dict.fromkeys(_TWO, ("", "")))
ARITY.update({"mad": ("", "", ""), "mix": ("", "", ""), "pown": ("", "int"), "rootn": ("", "int")})


def wrong_lanes(function: str, operands: list[Array], got: Array) -> Array:
    """Where `got` is further from the truth than allowed. Signs of zero and payloads of NaN do not count."""
    reference = REFERENCES[function]
    limits = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        wide = [operand.astype(np.longdouble) for operand in operands]
        true = np.asarray(reference.exact(*wide), np.longdouble)
        size = np.abs(true) if reference.magnitude is None else np.asarray(reference.magnitude(*wide), np.longdouble)
        _, exponent = np.frexp(np.where(np.isfinite(size), size, 0))
        unit = np.ldexp(np.longdouble(1), np.maximum(exponent, limits.minexp + 1) - 1 - limits.nmant)
        bound = reference.ulp[got.dtype.itemsize == 2] * unit
        error = np.abs(got.astype(np.longdouble) - true)
        near = error <= bound
        overflowed = np.isinf(got) & (np.abs(true) + bound > limits.max) & (np.sign(got) == np.sign(true))
    both_nan = np.isnan(got) & (np.isnan(true) | np.isnan(size))
    return ~(near | overflowed | both_nan | (got == true))
