"""Which bits of a value nobody has defined, which statements read them, and where that matters: as `docs/checks.md` says of level
full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .memories import Bound, Violation

ALL = np.int64(-1)
MOST_STATEMENTS = 63
"""Bits of a number, one for each statement that read what nobody wrote."""


@dataclass(frozen=True, eq=False)
class Value:
    """A number of each work-item. undefined: its undefined bits; origins: a bit for each statement that they come from."""

    number: np.ndarray
    undefined: np.ndarray
    origins: np.ndarray

    @staticmethod
    def of(number: np.ndarray) -> Value:
        """A number that is defined."""
        none = np.zeros(len(number), np.int64)
        return Value(number, none, none)

    @property
    def is_defined(self) -> bool:
        return not self.undefined.any()


def choose(holds: np.ndarray, yes: Value, no: Value) -> Value:
    """For each work-item one of two values."""
    return Value(
        np.where(holds, yes.number, no.number),
        np.where(holds, yes.undefined, no.undefined),
        np.where(holds, yes.origins, no.origins),
    )


def combine(op: str, number: np.ndarray, parts: Sequence[Value]) -> Value:
    """The result of an operation on two values."""
    if all(part.is_defined for part in parts):
        return Value.of(number)
    left, right = parts
    both = left.undefined | right.undefined
    if op in ("+", "-", "*"):
        undefined = smear(both)
    elif op == "^":
        undefined = both
    elif op == "&":
        undefined = (left.undefined & (right.number | right.undefined)) | (right.undefined & (left.number | left.undefined))
    else:
        undefined = np.where(both != 0, ALL, 0)
    return Value(number, undefined, np.where(undefined != 0, left.origins | right.origins, 0))


def smear(undefined: np.ndarray) -> np.ndarray:
    """The undefined bits of a sum: from the lowest one of its parts up."""
    found: np.ndarray = undefined | -undefined
    return found


def of_lanes(bytes_: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The undefined bits of the sum of lanes that are read as int, from those of their bytes."""
    bits = np.ascontiguousarray(bytes_)
    if dtype.kind == "f":
        found = np.where(bits.view(f"u{dtype.itemsize}") != 0, ALL, 0)
    else:
        found = bits.view(dtype).astype(np.int32).astype(np.int64)
    return found[:, 0] if found.shape[1] == 1 else smear(np.bitwise_or.reduce(found, axis=1))


def as_bytes(undefined: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The undefined bits of the bytes in which lanes are stored, from those of the lanes."""
    if dtype.kind == "f":
        undefined = np.where(undefined != 0, ALL, 0)
    return np.ascontiguousarray(undefined.astype(f"i{dtype.itemsize}")).view(np.uint8)


@dataclass(frozen=True, eq=False)
class Use:
    """A statement that needs a value, by work-items for which it is undefined. left: where it stores the value in an argument:
    the instance, first bytes, and how many."""

    items: np.ndarray
    origins: np.ndarray
    left: tuple[Bound, np.ndarray, np.ndarray, int] | None = None

    @property
    def is_left(self) -> bool:
        """Whether an undefined value of this store is in memory when the launch has ended."""
        if self.left is None:
            return True
        bound, instances, starts, nbytes = self.left
        return bool(bound.room.undefined[instances[:, None], starts[:, None] + np.arange(nbytes)].any())


Where = tuple["int | None", "tuple[int, ...] | None"]
"""An offset, or the coordinate of a texel."""


@dataclass
class Trace:
    """All reads of what nobody wrote, and all uses of what was read. places: by statement (line and object) and work-item."""

    statements: dict[tuple[int, str], int] = field(default_factory=dict)
    spaces: dict[str, str] = field(default_factory=dict)
    places: dict[tuple[int, int], set[Where]] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)

    def note_read(self, line: int, bound: Bound, items: np.ndarray, where: Sequence[Where]) -> np.int64:
        """Notes where work-items read what nobody wrote; returns the bit of the statement."""
        number = self.statements.setdefault((line, bound.name), len(self.statements))
        assert number < MOST_STATEMENTS
        self.spaces[bound.name] = bound.space
        for item, place in zip(items.tolist(), where, strict=True):
            self.places.setdefault((number, item), set()).add(place)
        return np.int64(1 << number)

    def violations(self) -> Iterator[Violation]:
        """Each use is told once for each statement that the value comes from."""
        for use in self.uses:
            if not use.is_left:
                continue
            for (line, name), number in self.statements.items():
                for item in use.items[(use.origins >> number) & 1 != 0].tolist():
                    first, *others = sorted(self.places[number, item], key=str)
                    yield Violation("uninitialized-read", line, name, self.spaces[name], item, first[0], first[1], tuple(others))
