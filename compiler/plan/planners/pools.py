"""What the pooling planners share: the order of events, the pool of one-dimensional storages, the choice of a texture."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field, replace

from ....records import dataclass
from ..allocation import Allocation
from ..problem import Item, Problem

MATCH_RANGE = 16
"""A storage serves requests from a sixteenth to sixteen times its size."""

MAX_RATIO = 5
"""A texture serves requests whose width and height are at most this many times smaller or larger (integer division)."""


def replay(items: Sequence[Item], allocate: Callable[[int], None], release: Callable[[int], None]) -> None:
    """Call `allocate` and `release` with item numbers as a program would: by time, releases before allocations."""
    ends: list[tuple[int, int]] = []
    for number in sorted(range(len(items)), key=lambda number: (items[number].start, number)):
        while ends and ends[0][0] <= items[number].start:
            release(heapq.heappop(ends)[1])
        allocate(number)
        heapq.heappush(ends, (items[number].end, number))


@dataclass
class Pool1D:
    """Storages; the free ones are kept by size, the one freed first before others of its size.

    Rule: among free sizes in [size // 16, 16 * size] the smallest that holds the request; else the largest below, which
    grows to the request.
    """

    sizes: list[int] = field(default_factory=list)
    free: list[tuple[int, int, int]] = field(default_factory=list)  # (size, number of the release, storage)
    releases: int = 0

    def take(self, size: int) -> int:
        """The storage for a request of `size` bytes: a free one, else a new one."""
        middle = bisect_left(self.free, (size,))
        if middle < bisect_left(self.free, (MATCH_RANGE * size + 1,)):
            return self.free.pop(middle)[2]
        if middle > bisect_left(self.free, (size // MATCH_RANGE,)):
            storage = self.free.pop(middle - 1)[2]
            self.sizes[storage] = size
            return storage
        self.sizes.append(size)
        return len(self.sizes) - 1

    def give(self, storage: int) -> None:
        insort(self.free, (self.sizes[storage], self.releases, storage))
        self.releases += 1


@dataclass(frozen=True)
class Candidate:
    """A free texture of `width` x `height` texels; `key` is the caller's."""

    key: int
    width: int
    height: int


def choose_texture(width: int, height: int, free: Iterable[Candidate]) -> Candidate | None:
    """The free texture that serves `width` x `height`, at the extents it must grow to; None if none is like enough.

    A candidate replaces the best so far where it wins on *either* axis: less added while the best adds any, or as much
    added and less wasted. So the answer depends on the order of `free`.
    """
    best: Candidate | None = None
    added, wasted = [2**63 - 1] * 2, [2**63 - 1] * 2
    for entry in free:
        if not _similar_size(width, entry.width) or not _similar_size(height, entry.height):
            continue
        grown = (max(entry.width, width), max(entry.height, height))
        more = [grown[0] - entry.width, grown[1] - entry.height]
        waste = [grown[0] - width, grown[1] - height]
        fewer = any(added[axis] > 0 and more[axis] < added[axis] for axis in (0, 1))
        tighter = any(added[axis] == more[axis] and waste[axis] < wasted[axis] for axis in (0, 1))
        if fewer or tighter:
            best, added, wasted = Candidate(entry.key, *grown), more, waste
    return best


def _similar_size(a: int, b: int) -> bool:
    return a // b <= MAX_RATIO and b // a <= MAX_RATIO


def common_scope(scope: str) -> str:
    """Adreno maps every kind of global memory, textures included, to one scope that storages are shared in."""
    return "global" if scope.startswith("global") else scope


def plan_pools(
    name: str, problem: Problem, key: Callable[[Item], Hashable], size: Callable[[Item], int] = lambda item: item.size
) -> Allocation:
    """The plan that gives every `key` a separate Pool1D. size: what the planner takes an item's bytes to be."""
    items = problem.items
    pools: dict[Hashable, Pool1D] = {}
    numbers: dict[tuple[Hashable, int], int] = {}
    taken = [(key(item), -1) for item in items]

    def allocate(number: int) -> None:
        kind = taken[number][0]
        taken[number] = (kind, pools.setdefault(kind, Pool1D()).take(size(items[number])))
        numbers.setdefault(taken[number], len(numbers))

    def release(number: int) -> None:
        kind, storage = taken[number]
        pools[kind].give(storage)

    replay(items, allocate, release)
    storages = tuple(pools[kind].sizes[storage] for kind, storage in numbers)
    return Allocation(name, problem, storages, tuple(numbers[pair] for pair in taken), (0,) * len(items))


def left_to_runtime(name: str, problem: Problem, plan: Callable[[Problem], Allocation]) -> Allocation:
    """`plan` of the items that TVM's planner places; each of the others has a separate storage, left to the runtime."""
    items = problem.items
    placed = [number for number, item in enumerate(items) if not item.left_alone]
    found = plan(replace(problem, items=tuple(items[number] for number in placed)))
    storages, storage_of = list(found.storages), [-1] * len(items)
    for number, storage in zip(placed, found.storage_of, strict=True):
        storage_of[number] = storage
    for number, item in enumerate(items):
        if item.left_alone:
            storage_of[number] = len(storages)
            storages.append(item.size)
    unplanned = frozenset(range(len(found.storages), len(storages)))
    return Allocation(name, problem, tuple(storages), tuple(storage_of), (0,) * len(items), unplanned=unplanned)
