"""Which accesses race, decided from the list of all accesses: what race cells have to find with a few words each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from adreno_sim.engine.abi.race_cells import OVERWRITTEN, READ_AFTER_WRITE, WRITE_AFTER_READ, WRITE_AFTER_WRITE


@dataclass(frozen=True)
class Access:
    """An access of `item` of `group` to a cell. interval: fences for this memory that the group had passed. epoch: the turn of
    the region in which it was made. number: of the access in the source."""

    group: int
    item: int
    interval: int
    epoch: int
    cell: int
    writes: bool
    atomic: bool
    number: int
    same: bool = False
    quiet: bool = False  # overwriting a value of one's own is no finding


def are_unordered(a: Access, b: Access, wave: int) -> bool:
    """Whether nothing orders two accesses of a launch: they are of two groups, or of two items between two fences. Items of one
    sub-group (of `wave` items; 0: there are none) are ordered by its synchronisation points."""
    if a.group != b.group:
        return True
    if a.item == b.item or a.interval != b.interval:
        return False
    return not (wave and a.item // wave == b.item // wave and a.epoch != b.epoch)


def is_race(a: Access, b: Access, wave: int) -> bool:
    return (a.writes or b.writes) and not (a.atomic and b.atomic) and are_unordered(a, b, wave)


Found = tuple[int, int, int]
"""How two accesses conflict, number of the later one, number of the earlier one."""


def with_earlier(accesses: list[Access]) -> Iterator[tuple[Access, list[Access]]]:
    """Each access, with the earlier ones to the same cell."""
    seen: dict[int, list[Access]] = {}
    for access in accesses:
        earlier = seen.setdefault(access.cell, [])
        yield access, list(earlier)
        earlier.append(access)


def conflicts_with_writes(accesses: list[Access], wave: int) -> Counter[Found]:
    """How often each pair conflicts of which the earlier one is the last write of the cell: dead stores among them."""
    found: Counter[Found] = Counter()
    for access, earlier in with_earlier(accesses):
        at = max((n for n, other in enumerate(earlier) if other.writes), default=None)
        if at is None:
            continue
        last = earlier[at]
        if is_race(access, last, wave):
            found[WRITE_AFTER_WRITE if access.writes else READ_AFTER_WRITE, access.number, last.number] += 1
        own = (access.group, access.item, access.epoch) == (last.group, last.item, last.epoch)
        if own and access.writes and not (access.atomic or access.same or access.quiet or len(earlier) > at + 1):
            found[OVERWRITTEN, access.number, last.number] += 1
    return found


def conflicts_with_reads(accesses: list[Access], wave: int) -> dict[int, list[Found]]:
    """By position of a write in the list: the reads that it races with. Cells keep some of the readers."""
    found = {}
    for position, (access, earlier) in enumerate(with_earlier(accesses)):
        racing = [other for other in earlier if not other.writes and is_race(access, other, wave)] if access.writes else []
        if racing:
            found[position] = [(WRITE_AFTER_READ, access.number, other.number) for other in racing]
    return found


def conflicts_with_atomics(accesses: list[Access], wave: int) -> dict[int, list[Found]]:
    """By position of a plain access in the list: the atomic writes since the last plain one that it races with. Cells keep some
    of them."""
    found = {}
    for position, (access, earlier) in enumerate(with_earlier(accesses)):
        last = max((n for n, other in enumerate(earlier) if other.writes and not other.atomic), default=-1)
        racing = [other for other in earlier[last + 1 :] if other.writes and other.atomic and is_race(access, other, wave)]
        if racing:
            how = WRITE_AFTER_WRITE if access.writes else READ_AFTER_WRITE
            found[position] = [(how, access.number, other.number) for other in racing]
    return found


def conflicts_with_any_atomic(accesses: list[Access], wave: int) -> set[Found]:
    """All conflicts of a plain access with an earlier atomic write."""
    return {
        (WRITE_AFTER_WRITE if access.writes else READ_AFTER_WRITE, access.number, other.number)
        for access, earlier in with_earlier(accesses)
        for other in earlier
        if other.writes and other.atomic and is_race(access, other, wave)
    }
