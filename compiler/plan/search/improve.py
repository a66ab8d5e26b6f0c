"""The lowest placement that a given effort finds: constructions, then repair and search under ever lower capacities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ....records import dataclass
from . import orders
from .ejection import repair
from .firstfit import place_in_order
from .instance import Instance, Ints
from .scan import place_by_scanning
from .skyline import FAILED, FOUND, Skyline
from .sweep import place_by_time

CONSTRUCTIONS = ("TWA", "SW", "CL", "AS", "WS", "TS", "CU", "LW", "UW")
"""Orders of placement that are tried first (letters as in `orders.keys`)."""

CONSTRUCTION_PAIRS = 40_000_000
"""Overlapping pairs to examine before the constructions end; one is always made."""

MOST_PAIRS = 30_000_000
"""Most overlapping pairs that are listed, at eight bytes each."""

MOST_SCANS = 6_000_000_000
"""Most steps of the constructions of an instance with more of them; one is made up to the double."""

SHARES = (0.0, 0.5, 0.25, 0.75)
"""How far above the bound the searches in turn set their capacity, as a part of the way to the peak."""

DIVES = ((("SWT", "WAT"), (0.0,)), (("SWT", "WAT"), SHARES), (("AT", "SWT", "WAT", "TWA"), SHARES))
"""Kinds of search in turn: orders among equal offsets, and shares. Placements at the bound itself are rare but quickly found."""

LEAST_SHARE = 20_000
"""Work of the shortest search; enough to exhaust tiny instances."""

DEEP = 1_500
"""Most items of a group that the search, which recurses once an item, is used for."""

AT_BOUND = 0.6
"""Part of the work that is first spent on short searches at the bound, each from scratch: some instances are done in a moment by
one search of thirty and never by the others."""

LENGTH = 28
"""Placements per item that such a search may visit."""

ROUNDS = (1 / 24, 1 / 24, 1 / 12, 1 / 12, 1 / 8, 1 / 8, 1 / 4, 1 / 4)
"""Rounds of search and repair, as parts of the work; time runs backwards in every other one. A search keeps no state between
rounds: short ones come first."""

SEARCH_PART = 0.65
"""The part of a round's work that is search."""

REPAIR_COST = 4
"""Steps of repair that count as one of search."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long to search. The same effort and seed always give the same placement.

    work: items and sections examined in all, some six nanoseconds each. restart: placements the shortest searches may
    visit per item; then a search starts again with what it has learnt. swap: how much searches differ by chance.
    """

    work: int = 2_000_000_000
    restart: int = 3
    swap: float = 0.2
    seed: int = 0


@dataclass(frozen=True, eq=False)
class StoragePlacement:
    """Offsets in units, and the peak below which there is proved to be no placement."""

    offsets: Ints
    bound: int


def lowest_placement(instance: Instance, effort: Effort) -> StoragePlacement:
    """Places each group of items that are live at a common time on its own; searches only groups above the bound."""
    offsets = np.zeros(len(instance), np.int64)
    goal = instance.bound
    groups = []
    for numbers in instance.components():
        numbers, part = _canonical(instance, numbers)
        offsets[numbers] = construct(part, goal)
        groups.append((part.peak(offsets[numbers]), numbers, part))
    bound = goal
    for peak, numbers, part in sorted(groups, key=lambda group: -group[0]):
        if peak > goal and part.overlaps <= MOST_PAIRS:
            search = Search(part, offsets[numbers], goal, effort)
            search.run()
            offsets[numbers] = search.placed
            bound = max(bound, search.bound)
        goal = max(goal, part.peak(offsets[numbers]))
    return StoragePlacement(offsets, bound)


def _canonical(instance: Instance, numbers: Ints) -> tuple[Ints, Instance]:
    """Some of the items in their canonical order and direction of time: what is found does not depend on how they are written."""
    part = instance.part(numbers)
    order, backwards = part.canonical()
    ordered = part.part(order)
    return numbers[order], ordered.mirrored() if backwards else ordered


def construct(part: Instance, goal: int) -> Ints:
    """The best of the constructions; the first one that reaches `goal`."""
    if part.overlaps > MOST_PAIRS:
        return min(_construct_dense(part), key=part.peak)
    best: Ints | None = None
    pairs = 0
    for best_fit in (False, True):
        for name in CONSTRUCTIONS:
            placed = place_in_order(part, orders.order(part, name), best_fit)
            pairs += part.overlaps
            if best is None or part.peak(placed) < part.peak(best):
                best = placed
            if part.peak(best) <= goal or pairs > CONSTRUCTION_PAIRS:
                return best
    assert best is not None
    return best


def _construct_dense(part: Instance) -> Iterator[Ints]:
    """By classes of size in order of time, where that is not too much work: large items first leaves few gaps, and those of like
    size follow one another in them. Else in order of time alone."""
    scans = len(part) ** 2 // 2
    if scans > MOST_SCANS:
        yield place_by_time(part)
        yield place_by_time(part, backwards=True)
        return
    for name in ("CL", "CU")[: max(1, MOST_SCANS // max(scans, 1))]:
        yield place_by_scanning(part, orders.order(part, name))


class Search:
    """The best placement so far (`placed`, of `peak` units), made lower until it reaches `bound` or the effort is spent.

    `bound` starts as the goal and rises where a search proves a capacity too small.
    """

    def __init__(self, part: Instance, placed: Ints, goal: int, effort: Effort):
        self.part, self.placed, self.bound, self.effort = part, placed, goal, effort
        self.peak = part.peak(placed)
        self.keys = orders.keys(part)
        self.ties = orders.scatter(len(part), effort.seed)
        self.steps = 0
        self.stride = 0.5

    def run(self) -> None:
        """Alternate search, exact on small instances, and repair, which brings large instances near the bound quickly."""
        part, deep = self.part, len(self.part) <= DEEP
        parts = part, part.mirrored()  # a search in the other direction of time meets other gaps first
        first = int(self.effort.work * AT_BOUND) if deep else 0
        length = max(LENGTH * len(part) * (len(part) + part.sections), LEAST_SHARE)
        number = 0
        while number * length < first and self.peak > self.bound:
            self._begin(parts, number)
            self.descend(min(length, first - number * length), *DIVES[0])
            number += 1
        for share in ROUNDS:
            work = int((self.effort.work - first) * share)
            self._begin(parts, number)
            number += 1
            for orders_in_turn, shares in DIVES if deep else ():
                self.descend(int(work * SEARCH_PART / len(DIVES)), orders_in_turn, shares)
            self.repair(int(work * (1 - SEARCH_PART)))

    def _begin(self, parts: Sequence[Instance], number: int) -> None:
        """Search number `number` begins: in one of the two directions of time, equals in a separate order."""
        self.part = parts[number % 2]
        self.keys = orders.keys(self.part)
        self.ties = orders.scatter(len(self.part), self.effort.seed + number)

    def descend(self, work: int, orders_in_turn: Sequence[str], shares: Sequence[float]) -> None:
        """Depth-first searches at capacities between bound and peak, each led by where the earlier ones failed."""
        skyline = Skyline(self.part)
        length = max(self.effort.restart * len(self.part) * (len(self.part) + self.part.sections), LEAST_SHARE)
        number = 0
        while work > 0 and self.peak > self.bound:
            turn, index = divmod(number, len(orders_in_turn))
            capacity = self._capacity(shares[turn % len(shares)])
            patience = lowest_bit(turn // len(shares) + 1)
            order = self._order(orders_in_turn[index], skyline)
            swap = self.effort.swap if number else 0.0  # the first follows the order itself
            seed = self.effort.seed + self.steps
            result, found, used = skyline.search(capacity, order, min(work, length * patience), swap, seed)
            work -= max(used, 1)
            number += 1
            self.steps += 1
            if result == FOUND:
                self._take(found)
            elif result == FAILED:
                self.bound = capacity + 1

    def repair(self, work: int) -> None:
        """Repairs under capacities between bound and peak: half the way while that works, then in smaller steps."""
        work *= REPAIR_COST
        chunk = work // 6
        while work > 0 and self.peak > self.bound:
            found, used = repair(
                self.part, self.placed, self._capacity(self.stride), min(work, chunk), self.effort.seed + self.steps
            )
            work -= max(used, 1)
            self.steps += 1
            if found is not None:
                self._take(found)
            else:
                self.stride = (1 + self.stride) / 2 if self.stride < 0.96 else 0.5

    def _take(self, found: Ints) -> None:
        self.placed, self.peak = found, self.part.peak(found)

    def _capacity(self, share: float) -> int:
        return min(self.bound + int((self.peak - self.bound) * share), self.peak - 1)

    def _order(self, name: str, skyline: Skyline) -> Ints:
        """Items whose sections failed most first (in steps of two), then by the order called `name`; equals in an order
        that differs from search to search."""
        failed = orders.fullest(self.part, skyline.conflicts)
        tiers = np.floor(np.log2(failed + 1)).astype(np.int64)
        return np.lexsort([self.ties, *(self.keys[letter] for letter in reversed(name)), -tiers])


def lowest_bit(number: int) -> int:
    """The largest power of two that divides `number`: 1, 2, 1, 4, 1, 2, 1, 8, ... as lengths, equal work at each length."""
    return number & -number
