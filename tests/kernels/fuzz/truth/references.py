"""What maths functions must give: computed in long double (double where numpy has none), with OpenCL's error bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Union

import numpy as np

from ..value_types import WIDTHS

Array = np.ndarray
Bound = Union[float, Callable[[int], float]]
PI = np.longdouble("3.14159265358979323846264338327950288")


@dataclass(frozen=True)
class Reference:
    """`exact` maps operands of shape (items, lanes) to the true result.

    ulp: bounds for float and half (OpenCL C 3.0, section 7.4), where they depend on the lanes as functions of their number.
    magnitude: where given, the bound is so many times the type's epsilon of this (sums of products may cancel). lanes: widths
    of the operands that the function takes. scalar: whether it gives one number of them.
    """

    exact: Callable[..., Array]
    ulp: tuple[Bound, Bound]
    magnitude: Callable[..., Array] | None = None
    lanes: tuple[int, ...] = WIDTHS
    scalar: bool = False


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


def _length(x: Array) -> Array:
    return np.sqrt((x * x).sum(1, keepdims=True))


def _normalize(x: Array) -> Array:
    """With infinite elements in it, those alone count; zeros stay (OpenCL C 3.0, section 7.5.1)."""
    infinite = np.isinf(x)
    x = np.where(infinite.any(1, keepdims=True), np.where(infinite, np.copysign(1, x), 0 * x), x)
    size = _length(x)
    return x / np.where(size == 0, 1, size)


def _dot(x: Array, y: Array) -> Array:
    return (x * y).sum(1, keepdims=True)


def _largest(x: Array) -> Array:
    """Of the finite elements: the others decide no result that is finite."""
    return np.where(np.isfinite(x), np.abs(x), 0).max(1, keepdims=True)


def _products(x: Array, y: Array) -> Array:
    return (2 * x.shape[1] - 1) * _largest(x) * _largest(y)


def _cross(x: Array, y: Array) -> Array:
    made = np.zeros_like(x)
    made[:, :3] = np.cross(x[:, :3], y[:, :3])
    return made


GEOMETRIC = (1, 2, 3, 4)
_COARSE: dict[str, Callable[..., Array]] = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(np.longdouble(10), x), "log": np.log, "log2": np.log2,
    "log10": np.log10, "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "divide": np.divide, "recip": lambda x: 1 / x,
}  # fmt: skip
"""Functions with a half_ of their own."""

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
    "tanpi": Reference(lambda x: np.tan(PI * (x - np.rint(x))), (6, 2)),
    "smoothstep": Reference(_smoothstep, (8, 8), lambda low, high, x: np.ones_like(x)),
    "dot": Reference(_dot, (1, 1), _products, GEOMETRIC, scalar=True),
    "length": Reference(_length, (lambda n: 2.75 + 0.5 * n, lambda n: 0.25 + 0.5 * n), None, GEOMETRIC, scalar=True),
    "distance": Reference(lambda x, y: _length(x - y), (lambda n: 2.5 + 2 * n, lambda n: 2 * n), None, GEOMETRIC, scalar=True),
    "normalize": Reference(_normalize, (lambda n: 2 + n, lambda n: 1 + n), None, GEOMETRIC),
    "cross": Reference(_cross, (3, 3), lambda x, y: _largest(x) * _largest(y), (3, 4)),
    "fast_length": Reference(_length, (8192, 0), None, GEOMETRIC, scalar=True),
    "fast_distance": Reference(lambda x, y: _length(x - y), (8192, 0), None, GEOMETRIC, scalar=True),
    "fast_normalize": Reference(_normalize, (8192, 0), None, GEOMETRIC),
    **{f"half_{name}": Reference(exact, (8192, 0)) for name, exact in _COARSE.items()},
    "{} * {}": Reference(np.multiply, (0.5, 0.5)),
    "{} / {}": Reference(np.divide, (0.5, 0.5)),
    "{} + {}": Reference(np.add, (0.5, 0.5)),
    "{} - {}": Reference(np.subtract, (0.5, 0.5)),
    "{} * {} + {}": Reference(lambda x, y, z: x * y + z, (1, 1), lambda x, y, z: np.abs(x * y) + np.abs(z)),
    "{} * {} - {}": Reference(lambda x, y, z: x * y - z, (1, 1), lambda x, y, z: np.abs(x * y) + np.abs(z)),
    "fma": Reference(lambda x, y, z: x * y + z, (0.5, 0.5), None),
    "sqrt": Reference(np.sqrt, (0.5, 0.5)),
}  # fmt: skip
"""By function, or by an expression with a {} for each operand, so that options may change what is exact otherwise: the simulator
promises the arithmetic rounded once under any of them (docs/fidelity.md)."""

FLOAT_ONLY = frozenset(name for name in REFERENCES if name.startswith(("half_", "fast_")))

_TWO = ("atan2", "atan2pi", "hypot", "pow", "powr", "dot", "distance", "cross", "fast_distance", "half_divide")
ARITY: dict[str, tuple[str, ...]] = dict.fromkeys(REFERENCES, ("",))
"""Operands of each function: "" of its own type, else of that kind."""
ARITY.update(dict.fromkeys(_TWO, ("", "")))
ARITY.update(dict.fromkeys(("mad", "mix", "smoothstep", "fma"), ("", "", "")))
ARITY.update({name: ("",) * name.count("{}") for name in REFERENCES if "{}" in name})
ARITY.update({"pown": ("", "int"), "rootn": ("", "int")})


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
        if reference.magnitude is not None:
            unit = np.maximum(unit, limits.eps * np.where(np.isfinite(size), size, 0))
        ulp = reference.ulp[got.dtype.itemsize == 2]
        bound = (ulp(operands[0].shape[1]) if callable(ulp) else ulp) * unit
        error = np.abs(got.astype(np.longdouble) - true)
        near = error <= bound
        overflowed = np.isinf(got) & (np.abs(true) + bound > limits.max) & (np.sign(got) == np.sign(true))
    both_nan = np.isnan(got) & (np.isnan(true) | np.isnan(size))
    return ~(near | overflowed | both_nan | (got == true))
