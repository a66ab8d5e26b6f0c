"""Sizes written as expressions: integers, names, + - * / // % **, parentheses, min, max, ceildiv.

Python's parser reads them, and only these forms are computed: nothing of the text is ever executed.
"""

from __future__ import annotations

import ast
import keyword
import operator
import re
import warnings
from collections.abc import Callable, Mapping

LONGEST = 200
"""Characters of an expression."""

LARGEST = 1 << 64
"""Every number on the way lies between this and its negative."""

FORMS = "integers, names, + - * / // % **, parentheses, min, max and ceildiv"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def evaluate(text: str, names: Mapping[str, int]) -> int:
    """The number that an expression comes to. Raises ValueError, whose text says what is wrong with it."""
    if not text.isascii() or len(text) > LONGEST:
        raise ValueError(f"expected an expression of at most {LONGEST} characters of ASCII")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's advice on literals
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"not an expression: expected {FORMS}") from None
    return _compute(tree.body, names)


def find_wrong_name(name: str) -> str:
    """Why `name` cannot name a value, "" if it can."""
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        return "expected a name of letters, digits and _, and no word of Python"
    return f"{name} is a function of expressions" if name in _FUNCTIONS else ""


def _compute(node: ast.expr, names: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return _bounded(node.value)
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ValueError(f"no value is named {node.id}; [values] has {', '.join(names) or 'none'}")
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _compute(node.operand, names)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _bounded(_OPERATORS[type(node.op)](_compute(node.left, names), _compute(node.right, names)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node.func.id, [_compute(argument, names) for argument in node.args])
    raise ValueError(f"not an expression of sizes: expected {FORMS}")


def _call(name: str, arguments: list[int]) -> int:
    if name not in _FUNCTIONS:
        raise ValueError(f"no function {name}; there are {', '.join(_FUNCTIONS)}")
    if len(arguments) < 2 or (name == "ceildiv" and len(arguments) > 2):
        raise ValueError(f"{name}: expected {'2' if name == 'ceildiv' else '2 or more'} arguments, got {len(arguments)}")
    return _FUNCTIONS[name](*arguments)


def _bounded(value: int) -> int:
    if abs(value) >= LARGEST:
        raise ValueError("a number on the way is 2**64 or more")
    return value


def _divide_exactly(a: int, b: int) -> int:
    if _floor(a, b) * b != a:
        raise ValueError(f"{a} / {b} is not a whole number; // rounds down, ceildiv({a}, {b}) up")
    return a // b


def _floor(a: int, b: int) -> int:
    _require_divisor(b)
    return a // b


def _remainder(a: int, b: int) -> int:
    _require_divisor(b)
    return a % b


def _ceildiv(a: int, b: int) -> int:
    _require_divisor(b)
    return -(-a // b)


def _require_divisor(b: int) -> None:
    if b == 0:
        raise ValueError("division by zero")


def _power(a: int, b: int) -> int:
    if b < 0:
        raise ValueError(f"{a} ** {b} is not a whole number")
    if abs(a) > 1 and b > LARGEST.bit_length():
        raise ValueError("a number on the way is 2**64 or more")
    return int(a ** (b if abs(a) > 1 else b and 2 - b % 2))  # of -1, 0 and 1, the exponent's parity decides


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide_exactly,
    ast.FloorDiv: _floor,
    ast.Mod: _remainder,
    ast.Pow: _power,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max, "ceildiv": _ceildiv}
