"""Evaluation of host expressions: integers wrap at their width, floats round to theirs, as in the compiled host code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Union

import numpy as np

from ...base.errors import AdrenoSimError
from ..artifact.host_function import Binary, Cast, Const, Expr, Load, Not, Select, Var

Number = Union[int, float, bool]


class Scope:
    """What expressions may refer to: scalars by variable, host buffers by name."""

    def __init__(self, scalars: Mapping[str, Number] | None = None, buffers: Mapping[str, np.ndarray] | None = None):
        self.scalars: dict[str, Number] = dict(scalars or {})
        self.buffers: dict[str, np.ndarray] = dict(buffers or {})


def evaluate(expr: Expr, scope: Scope) -> Number:
    """Value of `expr`. Raises AdrenoSimError on an unbound variable, a division by zero or an index outside a buffer."""
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, Var):
        if expr.name not in scope.scalars:
            raise AdrenoSimError(f"host program: variable {expr.name!r} is not bound")
        return scope.scalars[expr.name]
    if isinstance(expr, Binary):
        return _binary(expr, scope)
    if isinstance(expr, Not):
        return not evaluate(expr.a, scope)
    if isinstance(expr, Cast):
        return fit(evaluate(expr.value, scope), expr.dtype)
    if isinstance(expr, Select):
        return evaluate(expr.a if evaluate(expr.condition, scope) else expr.b, scope)
    if isinstance(expr, Load):
        return _load(expr, scope)
    raise AssertionError(f"not a host expression: {expr!r}")


def integer(expr: Expr, scope: Scope) -> int:
    """As `evaluate`, for sizes and indices."""
    value = evaluate(expr, scope)
    if isinstance(value, float) and not math.isfinite(value):
        raise AdrenoSimError(f"host program: {value} is not a size or index")
    return int(value)


def fit(value: Number, dtype: str) -> Number:
    """`value` as numpy `dtype` holds it: wrapped, truncated or rounded."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return bool(value)
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            return float(kind.type(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise AdrenoSimError(f"host program: {value} has no value of type {dtype}")
    bits = 8 * kind.itemsize
    wrapped = int(value) & ((1 << bits) - 1)
    return wrapped - (1 << bits) if kind.kind == "i" and wrapped >> (bits - 1) else wrapped


def _load(expr: Load, scope: Scope) -> Number:
    buffer = buffer_of(scope, expr.buffer)
    return buffer[checked_index(expr.buffer, buffer, integer(expr.index, scope))].item()


def buffer_of(scope: Scope, name: str) -> np.ndarray:
    if name not in scope.buffers:
        raise AdrenoSimError(f"host program: {name!r} is not in host memory")
    return scope.buffers[name]


def checked_index(name: str, buffer: np.ndarray, index: int) -> int:
    if not 0 <= index < buffer.size:
        raise AdrenoSimError(f"host program: element {index} of {name!r}, which has {buffer.size}")
    return index


def _truncdiv(a: Number, b: Number) -> Number:
    quotient = abs(int(a)) // abs(int(b))
    return quotient if (a < 0) == (b < 0) else -quotient


def _float_divide(a: Number, b: Number) -> Number:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(a) / np.float64(b))


_OPS: dict[str, Callable[..., Number]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: _float_divide(a, b) if isinstance(a, float) or isinstance(b, float) else _truncdiv(a, b),
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "truncdiv": _truncdiv,
    "truncmod": lambda a, b: a - b * _truncdiv(a, b),
    "min": min,
    "max": max,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
}


def _binary(expr: Binary, scope: Scope) -> Number:
    a = evaluate(expr.a, scope)
    if expr.op_name in ("and", "or"):
        return bool(a) if bool(a) == (expr.op_name == "or") else bool(evaluate(expr.b, scope))
    b = evaluate(expr.b, scope)
    try:
        return fit(_OPS[expr.op_name](a, b), expr.dtype)
    except (ArithmeticError, ValueError) as error:  # division by zero, a negative shift
        raise AdrenoSimError(f"host program: {expr.op_name} of {a} and {b}: {error}") from error
