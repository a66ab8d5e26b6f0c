"""What a kernel of `programs` does, one work-item and one statement after the other: each number with its undefined bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .programs import (
    ARRAYS,
    ENTRIES,
    FIELDS,
    GROUP,
    ITEMS,
    LENGTH,
    OUTPUTS,
    SCALARS,
    STRUCTS,
    TABLES,
    VECTORS,
    Expr,
    Program,
    Statement,
)

ALL = 0xFFFFFFFF
Value = tuple[int, int]
"""A number, and its undefined bits."""

UNSET: Value = (0, ALL)
TILE = list[Value]


class Reached(Exception):
    """Something undefined reached a branch or an address: what follows is anybody's guess."""


class Ambiguous(Exception):
    """Memory holds a byte with the undefined bits 0xAA, whose mark means all bits (`shadow/init_shadow.py`)."""


def run(program: Program, given: list[int]) -> list[list[Value | None]]:
    """Returns what each work-item leaves in the output, None where it stores nothing. Raises Reached."""
    inputs = [(number, 0) if place < program.written else UNSET for place, number in enumerate(given)]
    left: list[list[Value | None]] = []
    for group in range(ITEMS // GROUP):
        tile = [UNSET] * GROUP
        items = [_Item(group * GROUP + at, at, tile, inputs) for at in range(GROUP)]
        for phase in program.phases:
            for item in items:
                item.block(phase)
        left += [item.left for item in items]
    return left


def _smear(bits: int) -> int:
    """All bits from the lowest that is set up."""
    return -(bits & -bits) & ALL if bits else 0


def _whole(bits: int) -> int:
    return ALL if bits else 0


def _add(x: Value, y: Value) -> Value:
    return x[0] + y[0] & ALL, _smear(x[1] | y[1])


def _subtract(x: Value, y: Value) -> Value:
    return x[0] - y[0] & ALL, _smear(x[1] | y[1])


def _multiply(x: Value, y: Value) -> Value:
    return x[0] * y[0] & ALL, _smear(x[1] | y[1])


def _and(x: Value, y: Value) -> Value:
    zero = (~x[0] & ~x[1]) | (~y[0] & ~y[1])
    return x[0] & y[0], (x[1] | y[1]) & ~zero & ALL


def _or(x: Value, y: Value) -> Value:
    one = (x[0] & ~x[1]) | (y[0] & ~y[1])
    return x[0] | y[0], (x[1] | y[1]) & ~one & ALL


def _xor(x: Value, y: Value) -> Value:
    return x[0] ^ y[0], x[1] | y[1]


def _shift_left(x: Value, y: Value) -> Value:
    by = y[0] & 31
    return x[0] << by & ALL, ALL if y[1] & 31 else x[1] << by & ALL


def _shift_right(x: Value, y: Value) -> Value:
    by = y[0] & 31
    return x[0] >> by, ALL if y[1] & 31 else x[1] >> by


def _divide(x: Value, y: Value) -> Value:
    by = (y[0] & 7) + 1
    return x[0] // by, _whole(x[1] | y[1] & 7)


def _less(x: Value, y: Value) -> Value:
    return int(x[0] < y[0]), int(bool(x[1] | y[1]))


def _equal(x: Value, y: Value) -> Value:
    undefined = x[1] | y[1]
    decided = (x[0] ^ y[0]) & ~undefined & ALL
    return int(x[0] == y[0]), int(bool(undefined) and not decided)


def _differ(x: Value, y: Value) -> Value:
    same = _equal(x, y)
    return 1 - same[0], same[1]


_OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "+": _add, "-": _subtract, "*": _multiply, "&": _and, "|": _or, "^": _xor, "<<": _shift_left, ">>": _shift_right,
    "/": _divide, "<": _less, "==": _equal, "!=": _differ,
}  # fmt: skip


def _wide(x: Value, y: Value) -> Value:
    """The upper half of a sum of 64 bits."""
    undefined = x[1] | y[1]
    smeared = -(undefined & -undefined) & (1 << 64) - 1
    return (x[0] * 3 + y[0] * y[0]) >> 32 & ALL, smeared >> 32


def _turn(x: Value) -> Value:
    """Bytes in the other order."""
    number, undefined = (int.from_bytes(part.to_bytes(4, "little"), "big") for part in x)
    return number, undefined


def _whole_of(function: Callable[[int, int], int]) -> Callable[[Value, Value], Value]:
    return lambda x, y: (function(x[0], y[0]), _whole(x[1] | y[1]))


_COMPUTED: dict[str, Callable[..., Value]] = {
    "bytes": _turn, "wide": _wide, "max": _whole_of(max), "min": _whole_of(min), "mul_hi": _whole_of(lambda x, y: x * y >> 32),
}  # fmt: skip


def _is_constant(e: Expr) -> bool:
    """Whether a choice of such expressions is no branch: clang computes both."""
    kind, *rest = e
    return kind == "number" or (kind in (*_OPERATORS, *_COMPUTED, "half", "choose") and all(map(_is_constant, rest)))


def _choose_lane(yes: Value, no: Value, condition: Value) -> Value:
    """The function select: the top bit of a lane says which."""
    number, undefined = yes if condition[0] >> 31 else no
    return number, ALL if condition[1] >> 31 else undefined


class _Item:
    """A work-item. tile: of its group."""

    def __init__(self, me: int, at: int, tile: TILE, given: list[Value]):
        self.at, self.me, self.tile, self.given = at, me, tile, given
        self.names: dict[str, Value] = {"me": (me, 0), "at": (at, 0), **dict.fromkeys(SCALARS, UNSET)}
        self.rows = {name: [UNSET] * 4 for name in VECTORS} | {name: [UNSET] * LENGTH for name in ARRAYS}
        self.structs = {name: {field: (0, (1 << bits) - 1) for field, bits in FIELDS.items()} for name in STRUCTS}
        self.structs |= {f"{name}[{n}]": dict(self.structs["s"]) for name in TABLES for n in range(ENTRIES)}
        self.left: list[Value | None] = [None] * OUTPUTS

    def block(self, statements: list[Statement]) -> None:
        for statement in statements:
            self._run(*statement)

    def _run(self, kind: str, *rest: Any) -> None:
        if kind == "set":
            self._set(rest[0], self.value(rest[1]))
        elif kind == "if":
            self.block(rest[1] if self._is_true(rest[0]) else rest[2])
        elif kind == "for":
            for number in range(rest[1]):
                self.names[rest[0]] = number, 0
                if rest[2]:
                    self.names["z"] = UNSET
                self.block(rest[3])
                if rest[4] and self._is_true(rest[4]):
                    break
        elif kind == "pick":
            self.rows[rest[0]] = self._pick(*rest[1:])
        elif kind == "select lanes":
            self.rows[rest[0]] = [_choose_lane(*lanes) for lanes in zip(*(self.rows[name] for name in rest[1:]), strict=True)]
        elif kind in ("load", "keep"):
            self.rows[rest[0]] = list(self.rows[rest[1]])
        elif kind == "lanes":
            self.rows[rest[0]] = list(map(_OPERATORS[rest[1]], self.rows[rest[2]], self.rows[rest[3]]))
        elif kind == "shuffle":
            self.rows[rest[0]] = [self.rows[rest[1]][n] for n in rest[2]]
        elif kind == "blend":
            pairs = zip(self.rows[rest[2]], self.rows[rest[3]], strict=True)
            self.rows[rest[0]] = [yes if self.me + n < rest[1] else no for n, (yes, no) in enumerate(pairs)]
        elif kind == "copy":
            self.structs[rest[0]] = dict(self.structs[rest[1]])
        else:
            self.left[rest[0]] = self.value(rest[1])

    def _pick(self, first: str, second: str, mask: tuple[Expr, ...]) -> list[Value]:
        lanes = self.rows[first] + (self.rows[second] if second != first else [])
        found = []
        for number, undefined in map(self.value, mask):
            value, bits = lanes[number % len(lanes)]
            found.append((value, ALL if undefined & len(lanes) - 1 else bits))
        return found

    def _set(self, place: Expr, value: Value) -> None:
        kind, *rest = place
        if kind not in ("name", "lane") and 0xAA in value[1].to_bytes(4, "little"):
            raise Ambiguous
        if kind == "name":
            self.names[rest[0]] = value
        elif kind == "lane":
            self.rows[rest[0]][rest[1]] = value
        elif kind == "element":
            self.rows[rest[0]][self._index(rest[1])] = value
        elif kind == "tile":
            self.tile[(self.at + rest[0]) % GROUP] = value
        else:
            if kind == "entry":
                rest = [self._entry(rest[0], rest[1]), rest[2]]
            mask = (1 << FIELDS[rest[1]]) - 1
            self.structs[rest[0]][rest[1]] = value[0] & mask, value[1] & mask

    def _entry(self, table: str, index: Expr) -> str:
        return f"{table}[{self._index(index, ENTRIES)}]"

    def _is_true(self, condition: Expr) -> bool:
        number, undefined = _differ(self.value(condition), (0, 0))
        if undefined:
            raise Reached("a branch depends on it")
        return bool(number)

    def _index(self, index: Expr, length: int = LENGTH) -> int:
        number, undefined = self.value(index)
        if undefined & length - 1:
            raise Reached("an address depends on it")
        return number & length - 1

    def value(self, e: Expr) -> Value:
        kind, *rest = e
        if kind in _OPERATORS:
            return _OPERATORS[kind](self.value(rest[0]), self.value(rest[1]))
        if kind == "number":
            return rest[0], 0
        if kind == "name":
            return self.names[rest[0]]
        if kind == "lane":
            return self.rows[rest[0]][rest[1]]
        if kind == "element":
            return self.rows[rest[0]][self._index(rest[1])]
        if kind == "member":
            return self.structs[rest[0]][rest[1]]
        if kind == "entry":
            return self.structs[self._entry(rest[0], rest[1])][rest[2]]
        if kind == "tile":
            return self.tile[(self.at + rest[0]) % GROUP]
        if kind == "given":
            return self.given[(self.me + rest[0]) % ITEMS]
        return self._computed(kind, rest)

    def _computed(self, kind: str, rest: list[Expr]) -> Value:
        if kind == "choose" and not (_is_constant(rest[1]) and _is_constant(rest[2])):
            return self.value(rest[1] if self._is_true(rest[0]) else rest[2])
        if kind in _COMPUTED:
            return _COMPUTED[kind](*map(self.value, rest))
        if kind == "half":
            number, undefined = self.value(rest[0])
            return (number & 1023) // 2, _whole(undefined & 1023)
        if kind == "help":
            chosen, value = self.value(rest[0]), self.value(rest[1])
            if chosen[1] & 1:
                raise Reached("a branch depends on it")
            return value if chosen[0] & 1 else UNSET
        condition, yes, no = map(self.value, rest)
        chosen, unknown = _differ(condition, (0, 0))
        number, undefined = yes if chosen else no
        return number, ALL if unknown else undefined
