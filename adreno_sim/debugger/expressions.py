"""Expressions of the debugger, as in OpenCL C: read by a separate grammar, and computed with Python's numbers.

    a[i] + 1, v.x > 0.5f, *p, s.b[2], img(3, 4), get_global_id(0) == 17, buf[0:8]

Integers do not wrap. Nothing of the text is ever executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from ..records import dataclass
from .values import DebugError, Number, Value, make_value, member

LONGEST = 200
"""Characters of an expression."""
_TOKEN = re.compile(
    r"\s*(?:(?P<float>(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?[fFhH]?|\d+[eE][-+]?\d+[fF]?)|(?P<int>0[xX][0-9a-fA-F]+|\d+)[uUlL]*"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>->|\|\||&&|<<|>>|[=!<>]=|[-+*/%<>!~&|^()\[\].,:]))"
)
_LEVELS = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip


class Scope(Protocol):
    """What names mean where a work-item is."""

    def name(self, name: str) -> Value: ...
    def call(self, name: str, arguments: Sequence[int]) -> Value: ...
    def at(self, value: Value, index: int) -> Value: ...


Compute = Callable[[Scope], Value]


@dataclass(frozen=True)
class Expression:
    """An expression that was read. last: the end of a slice `a[0:8]`, whose elements from `compute`'s on are meant."""

    text: str
    compute: Compute
    base: Compute | None = None
    bounds: tuple[Compute, Compute] | None = None

    def value(self, scope: Scope) -> Value:
        """Returns its value. DebugError for a slice, and where a name or an element is not there."""
        if self.bounds is not None:
            raise DebugError(f"{self.text}: expected one value, got a slice")
        return self.compute(scope)

    def values(self, scope: Scope) -> list[Value]:
        """Returns its values: several of a slice."""
        if self.base is None or self.bounds is None:
            return [self.compute(scope)]
        first, last = (_integer(bound(scope)) for bound in self.bounds)
        base = self.base(scope)
        return [scope.at(base, index) for index in range(first, min(last, first + 1024))]


def parse(text: str) -> Expression:
    """Reads an expression. DebugError says what is wrong with it, and where."""
    if len(text) > LONGEST:
        raise DebugError(f"expected an expression of at most {LONGEST} characters")
    try:
        return _Parser(text).read()
    except RecursionError:
        raise DebugError(f"expression {text[:40]!r}...: nested too deeply") from None


class _Parser:
    def __init__(self, text: str):
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise DebugError(f"expression {text!r}: unexpected {text[at:].strip()[:1]!r} at character {at + 1}")
            kind = found.lastgroup or ""
            self.tokens.append((kind, found[kind], found.start(kind)))
            at = found.end()
        self.at = 0
        self.slice: tuple[Compute, Compute, Compute] | None = None

    def read(self) -> Expression:
        compute = self._binary(1)
        if self.at < len(self.tokens):
            raise self._unexpected("the end")
        if self.slice is not None:
            base, first, last = self.slice
            return Expression(self.text.strip(), compute, base, (first, last))
        return Expression(self.text.strip(), compute)

    def _peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) and self.tokens[self.at][0] == "sign" else ""

    def _take(self, sign: str) -> bool:
        if self._peek() != sign:
            return False
        self.at += 1
        return True

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._unexpected(repr(sign))

    def _unexpected(self, expected: str) -> DebugError:
        got = repr(self.tokens[self.at][1]) if self.at < len(self.tokens) else "the end"
        return DebugError(f"expression {self.text.strip()!r}: expected {expected}, got {got}")

    def _binary(self, level: int) -> Compute:
        left = self._unary()
        while (mine := _LEVELS.get(self._peek(), 0)) >= level:
            sign = self._peek()
            self.at += 1
            left = _combine(sign, left, self._binary(mine + 1))
        return left

    def _unary(self) -> Compute:
        for sign in ("-", "+", "!", "~", "*"):
            if self._take(sign):
                return _apply(sign, self._unary())
        return self._postfix(self._primary())

    def _primary(self) -> Compute:
        if self.at >= len(self.tokens):
            raise self._unexpected("a value")
        kind, text, _ = self.tokens[self.at]
        if kind == "sign":
            self._expect("(")
            inside = self._binary(1)
            self._expect(")")
            return inside
        self.at += 1
        if kind == "int":
            number = int(text, 0) if text[:2].lower() == "0x" else int(text)
            return lambda scope: make_value(number)
        if kind == "float":
            value = float(text.rstrip("fFhH"))
            return lambda scope: make_value(value)
        if self._take("("):
            arguments = self._arguments()
            return lambda scope: scope.call(text, [_integer(argument(scope)) for argument in arguments])
        return lambda scope: scope.name(text)

    def _arguments(self) -> list[Compute]:
        found: list[Compute] = []
        while not self._take(")"):
            if found:
                self._expect(",")
            found.append(self._binary(1))
        return found

    def _postfix(self, value: Compute) -> Compute:
        while True:
            if self._take("["):
                value = self._index(value)
            elif self._take(".") or self._take("->"):
                pointed = self.tokens[self.at - 1][1] == "->"
                if self.at >= len(self.tokens) or self.tokens[self.at][0] != "name":
                    raise self._unexpected("the name of a member")
                value = _member(value, self.tokens[self.at][1], pointed)
                self.at += 1
            else:
                return value

    def _index(self, value: Compute) -> Compute:
        first = self._binary(1)
        if self._take(":"):
            last = self._binary(1)
            self._expect("]")
            if self.at < len(self.tokens) or self.slice is not None:
                raise DebugError(f"expression {self.text.strip()!r}: expected a slice at the end only")
            self.slice = value, first, last
            return value
        self._expect("]")
        return lambda scope: scope.at(value(scope), _integer(first(scope)))


def _member(value: Compute, name: str, pointed: bool) -> Compute:
    return lambda scope: member(scope.at(value(scope), 0) if pointed else value(scope), name)


def _integer(value: Value) -> int:
    number = value.number
    if isinstance(number, float):
        raise DebugError(f"expected an integer, got {number:g}")
    return number


def _apply(sign: str, operand: Compute) -> Compute:
    if sign == "*":
        return lambda scope: scope.at(operand(scope), 0)
    compute: dict[str, Callable[[Value], Number]] = {
        "-": lambda v: -v.number, "+": lambda v: v.number, "!": lambda v: int(not v.number), "~": lambda v: ~_integer(v),
    }  # fmt: skip
    return lambda scope: make_value(compute[sign](operand(scope)))


def _combine(sign: str, left: Compute, right: Compute) -> Compute:
    if sign == "&&":
        return lambda scope: make_value(int(bool(left(scope).number) and bool(right(scope).number)))
    if sign == "||":
        return lambda scope: make_value(int(bool(left(scope).number) or bool(right(scope).number)))
    if sign in ("|", "^", "&", "<<", ">>", "%"):
        return lambda scope: make_value(_of_integers(sign, _integer(left(scope)), _integer(right(scope))))
    return lambda scope: make_value(_of_numbers(sign, left(scope).number, right(scope).number))


def _of_integers(sign: str, a: int, b: int) -> int:
    if sign == "%":
        if not b:
            raise DebugError("division by zero")
        return abs(a) % abs(b) * (-1 if a < 0 else 1)
    if sign in ("<<", ">>"):
        if not 0 <= b < 64:
            raise DebugError(f"shift by {b}: expected 0 to 63")
        return a << b if sign == "<<" else a >> b
    return a | b if sign == "|" else a ^ b if sign == "^" else a & b


def _of_numbers(sign: str, a: Number, b: Number) -> Number:
    if sign == "/":
        if not b:
            raise DebugError("division by zero")
        if isinstance(a, int) and isinstance(b, int):
            return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
        return a / b
    if sign in ("+", "-", "*"):
        return a + b if sign == "+" else a - b if sign == "-" else a * b
    truths = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    return int(truths[sign])
