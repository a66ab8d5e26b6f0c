"""How kernels reach elements: loops of several kinds, indices of several forms."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from ..builder import Builder
from ..tree import IN_GROUP, ITEM, Expr, For, If, Name, Num, Stmt

Body = tuple[Stmt, ...]
Wrap = Callable[[Body], Body]


def every_index(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    """Loops and an index that takes each value below `extent` once."""
    return b.random.choice(_EVERY)(b, extent)


def some_index(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    """Loops, or none, and an index below `extent`."""
    if b.chance(0.8 if b.plain else 0.5):
        return every_index(b, extent)
    return b.random.choice(_SOME)(b, extent)


def as_is(body: Body) -> Body:
    return body


def _loop(b: Builder, low: Expr, op: str, high: Expr, step: int | str = 1) -> tuple[Wrap, Name]:
    name = b.name("j")
    way = b.random.choice(["for", "for", "for", "while"])
    hint = b.random.choice(["", "", "", "#pragma unroll", "#pragma unroll 2"]) if way == "for" else ""
    return (lambda body: (For(name, low, op, high, step, body, way, hint),)), Name(name)


def _up(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    if b.chance(0.2):
        return _loop(b, Num(0), "<=", Num(extent - 1))
    return _loop(b, Num(0), "<", b.number(extent))


def _down(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    return _loop(b, b.number(extent - 1), ">=", Num(0), -1)


def _mirrored(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    wrap, j = _up(b, extent)
    return wrap, Num(extent - 1) - j


def _moved_up(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    k = b.random.randint(1, 3)
    wrap, j = _loop(b, Num(k), "<", b.number(extent + k))
    return wrap, j - k


def _moved_down(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    k = b.random.randint(1, 3)
    wrap, j = _loop(b, Num(-k), "<", Num(extent - k))
    return wrap, j + k


def _permuted(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    steps = [q for q in (3, 5, 7) if gcd(q, extent) == 1]
    wrap, j = _up(b, extent)
    return wrap, (j * b.random.choice(steps)) % extent if steps else j


def _nested(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    widths = [w for w in (2, 3, 4) if extent % w == 0 and extent > w]
    if not widths:
        return _up(b, extent)
    w = b.random.choice(widths)
    outer, y = _up(b, extent // w)
    inner, x = _up(b, w)
    return (lambda body: outer(inner(body))), y * w + x


def _turned(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    wrap, j = _up(b, extent)
    return wrap, (j + b.random.choice([ITEM, IN_GROUP])) % extent


_EVERY = [_up, _up, _up, _down, _mirrored, _moved_up, _moved_down, _permuted, _nested, _turned]


def _in_steps(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    return _loop(b, Num(b.random.randrange(min(2, extent))), "<", b.number(extent), 2)


def _of_item(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    return as_is, (b.random.choice([ITEM, ITEM, IN_GROUP]) * b.random.choice([1, 1, 3, 5]) + b.random.randint(0, 9)) % extent


def _of_mask(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    return as_is, b.random.choice([ITEM, IN_GROUP]) & (1 << (extent.bit_length() - 1)) - 1


def _one(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    return as_is, b.number(b.random.choice([extent - 1, b.random.randrange(extent)]))


def _neighbours(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    if extent < 3:
        return _up(b, extent)
    wrap, j = _loop(b, Num(1), "<", Num(extent))
    return wrap, j - b.random.choice([0, 1])


def _halves(b: Builder, extent: int) -> tuple[Wrap, Expr]:
    return _loop(b, Num(extent - 1), ">", Num(0), "/2")


_SOME = [_in_steps, _of_item, _of_item, _of_mask, _one, _neighbours, _halves]


def written_out(b: Builder, extent: int, make: Callable[[Expr], Body]) -> Body:
    """Statements for every index below `extent`, in a loop or one after the other."""
    if extent <= 5 and b.chance(0.25):
        return tuple(statement for index in range(extent) for statement in make(Num(index)))
    wrap, index = every_index(b, extent)
    return wrap(make(index))


def perhaps_if(b: Builder, body: Body) -> Body:
    """Statements under a condition, or not."""
    if not b.chance(0.6 if b.plain else 0.4):
        return body
    return (If(b.condition(), body),)
