"""Constants of every type: small ones, limits, powers of two; floats with and without exact values."""

from __future__ import annotations

from ..choices import Choices
from ..tree import Expr
from ..value_types import Type

_FLOATS = ("0.0f", "1.0f", "-1.0f", "0.5f", "2.0f", "-0.0f", "3.25f", "0.1f", "-7.3f", "100.0f", "1024.5f", "-0.001f", "1e10f")
_HALVES = ("0.0f", "1.0f", "-1.0f", "0.5f", "2.0f", "-0.0f", "3.25f", "0.1f", "-7.3f", "100.0f", "60.5f", "-0.001f")
_WILD = ("INFINITY", "FLT_MAX", "FLT_MIN", "-INFINITY", "1e-40f", "-3e38f")


def literal(choices: Choices, type: Type) -> Expr:
    """A constant; vectors as a splat or lane by lane."""
    if type.width == 1:
        return Expr(type, (_scalar(choices, type),))
    if choices.chance(0.5):
        return Expr(type, (f"({type})({_scalar(choices, type)})",))
    return Expr(type, (f"({type})({', '.join(_scalar(choices, type) for _ in range(type.width))})",))


def simplest(type: Type) -> Expr:
    """What an expression of a failing kernel is replaced by first."""
    return Expr(type, (f"({type})(1)",))


def _scalar(choices: Choices, type: Type) -> str:
    if type.kind == "float":
        return f"({choices.pick(_WILD if choices.chance(0.03) and not choices.tame else _FLOATS)})"
    if type.kind == "half":
        return f"(half)({choices.pick(_HALVES)})"
    value = _integer(choices, type)
    if type.bits < 32:
        return f"({type.kind})({value})"
    if type.kind == "int":
        return f"({value})" if value > -(2**31) else "(-2147483647 - 1)"
    return f"{value}{'u' if type.bits == 32 else 'UL'}" if type.kind[0] == "u" else _long(value)


def _long(value: int) -> str:
    return "(-9223372036854775807L - 1)" if value == -(2**63) else f"({value}L)"


def _integer(choices: Choices, type: Type) -> int:
    signed = type.signed == type
    low, high = (-(1 << type.bits - 1), (1 << type.bits - 1) - 1) if signed else (0, (1 << type.bits) - 1)
    kind = choices.weighted([(5, "small"), (2, "power"), (1, "limit"), (2, "any")])
    if kind == "small":
        return choices.number(-9 if signed else 0, 9)
    if kind == "power":
        return max(low, min(high, (1 << choices.number(0, type.bits - 1)) + choices.number(-1, 1)))
    return choices.pick([low, high]) if kind == "limit" else choices.number(low, high)
