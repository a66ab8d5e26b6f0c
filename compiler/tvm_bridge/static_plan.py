"""TVM's static memory planning as arithmetic on sizes: assigns each tensor a storage.

A tensor takes the smallest free storage of its kind that holds it, if that is less than 16 times too large; else the
largest free one that is not 16 times too small, which grows; else a new one. Among equal sizes the one free for
longest wins. A storage is free again after the last use of its tensor.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence

from ...records import dataclass

MATCH_RANGE = 16
"""How many times larger or smaller than a tensor a storage may be to be reused for it."""


@dataclass(frozen=True)
class Life:
    """A tensor to place: `nbytes` needed from step `first` to step `last` inclusive; only equal `kind`s share storages."""

    nbytes: int
    first: int
    last: int
    kind: Hashable = None


@dataclass(frozen=True)
class StaticPlan:
    """storage_of: for each tensor the number of its storage; sizes: bytes of each storage, the largest of its tensors."""

    storage_of: tuple[int, ...]
    sizes: tuple[int, ...]


def plan_storages(lives: Sequence[Life]) -> StaticPlan:
    """Place tensors in storages. `lives` are in order of `first`; two tensors never share a storage while both live."""
    sizes: list[int] = []
    storage_of: list[int] = []
    free: dict[Hashable, list[tuple[int, int]]] = {}  # by kind: (bytes, storage), ascending bytes, oldest first
    held: list[tuple[int, int, Hashable]] = []  # (last step, storage, kind)
    for life in lives:
        _release(held, free, sizes, before=life.first)
        pool = free.setdefault(life.kind, [])
        storage = _take(pool, life.nbytes)
        if storage is None:
            storage = len(sizes)
            sizes.append(life.nbytes)
        sizes[storage] = max(sizes[storage], life.nbytes)
        storage_of.append(storage)
        held.append((life.last, storage, life.kind))
    return StaticPlan(tuple(storage_of), tuple(sizes))


def _release(
    held: list[tuple[int, int, Hashable]], free: dict[Hashable, list[tuple[int, int]]], sizes: list[int], before: int
) -> None:
    """Return the storages of tensors last used before a step to their pools, in the order in which they came free."""
    done = sorted((entry for entry in held if entry[0] < before), key=lambda entry: entry[0])
    held[:] = [entry for entry in held if entry[0] >= before]
    for _, storage, kind in done:
        pool = free.setdefault(kind, [])
        pool.insert(bisect_right(pool, sizes[storage], key=lambda entry: entry[0]), (sizes[storage], storage))


def _take(pool: list[tuple[int, int]], nbytes: int) -> int | None:
    """Remove and return the storage to reuse, None if none fits."""
    enough = bisect_left(pool, nbytes, key=lambda entry: entry[0])
    if enough < len(pool) and pool[enough][0] <= nbytes * MATCH_RANGE:
        return pool.pop(enough)[1]
    if enough > 0 and pool[enough - 1][0] >= nbytes // MATCH_RANGE:
        return pool.pop(enough - 1)[1]
    return None
