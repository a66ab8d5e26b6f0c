"""Objects that a program never releases while it makes more of them with every launch: their memory has no limit."""

from __future__ import annotations

import re
import weakref
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain

from ...findings import Finding, Kind
from ...memory.storage import Storage
from ...records import dataclass
from ...results.run_report import Leak
from ..calls.places import Frames

LEAST = 8
"""Objects, and launches, from which on a growth is one."""
_PARTS = 4
_SHOWN_CALLERS = 3
"""Frames in a finding: the innermost one is often a wrapper of every call."""
_WHERE = re.compile(r"call (\d+)(?:, from (.*))?", re.S)


@dataclass
class _Memory:
    """The call that made it, from where, and the call of the last launch that used it."""

    call: int
    frames: Frames
    last_use: int = 0


class GrowingLeaks:
    """Knows the launches of a session, and the memory that they use."""

    def __init__(self) -> None:
        self._calls = array("Q")
        self._kinds = array("q")
        self._memory: weakref.WeakKeyDictionary[Storage, _Memory] = weakref.WeakKeyDictionary()

    def note_memory(self, storage: Storage, call: int, frames: Frames) -> None:
        """A call of the host made this memory, or a part of it, from these frames."""
        self._memory.setdefault(storage, _Memory(call, frames))

    def note_launch(self, call: int, kernel: str, source: str, global_size: Sequence[int], used: Iterable[Storage] = ()) -> None:
        """A launch has run, which this call of the host enqueued: of a kernel in this source, with this memory."""
        self._calls.append(call)
        self._kinds.append(hash((kernel, source, tuple(global_size))))
        for storage in used:
            if (memory := self._memory.get(storage)) is not None:
                memory.last_use = max(memory.last_use, call)

    def find(self, leaks: Sequence[Leak], frames_of: Callable[[int], Frames] = lambda call: ()) -> Iterator[Finding]:
        """A finding for each type and place of the program that made objects steadily. Objects of before the first launch, and of
        a part of the run, as while caches fill, are not growth. Objects made before a launch that is the first of its kind are
        not growth either: a program, a kernel, the buffers of a layer that runs once. frames_of: the frames of a call, none where
        nobody knows. A function that makes objects for many callers is one place; the objects of each of its callers must grow by
        themselves. A pool, which keeps memory to use it again, is not growth."""
        made: dict[tuple[str, str], dict[Frames, list[int]]] = defaultdict(lambda: defaultdict(list))
        for leak in leaks:
            if found := _WHERE.fullmatch(leak.where):
                call = int(found[1])
                made[leak.type, found[2] or ""][frames_of(call)].append(call)
        launches, pools = self._order_launches(), self._find_pools()
        for (type, place), callers in made.items():
            by_caller = (sorted(calls) for frames, calls in callers.items() if frames not in pools)
            growing = [calls for calls in by_caller if _find_rate(launches, calls)[0]]
            rate, grown = _find_rate(launches, sorted(chain.from_iterable(growing)))
            if rate:
                via = "".join(f", called from {frame}" for frame in frames_of(grown[0])[1:_SHOWN_CALLERS])
                where = f", from {place}{via}" if place else ""
                sentence = (
                    f"{len(grown)} objects {type} that were made since the first launch are never released: they grow by "
                    f"{_describe(rate)}, the first made by call {grown[0]}{where}"
                )
                yield Finding(Kind.LEAK_GROWS, sentence)

    def _find_pools(self) -> set[Frames]:
        """Places that keep memory to use it again: of what a place made since the first launch, a launch uses something after the
        place has made LEAST more."""
        made: dict[Frames, list[_Memory]] = defaultdict(list)
        first = min(self._calls, default=0)
        for memory in self._memory.values():
            if memory.frames and memory.call > first:
                made[memory.frames].append(memory)
        pools = set()
        for frames, memories in made.items():
            memories.sort(key=lambda memory: memory.call)
            if any(early.last_use > late.call for early, late in zip(memories, memories[LEAST:], strict=False)):
                pools.add(frames)
        return pools

    def _order_launches(self) -> _Launches:
        """What `find` knows of the launches, in the order of their calls: threads and events may have run them in another."""
        in_order = sorted(zip(self._calls, self._kinds, strict=True))
        seen: set[int] = set()
        is_repeat = []
        for _, kind in in_order:
            is_repeat.append(kind in seen)
            seen.add(kind)
        return _Launches([call for call, _ in in_order], is_repeat, [0, *accumulate(map(int, is_repeat))])


@dataclass(frozen=True)
class _Launches:
    """calls: of launches, in their order. is_repeat: whether a launch like it came before. repeats_before: how many such launches
    came before each, and before the end."""

    calls: list[int]
    is_repeat: list[bool]
    repeats_before: list[int]

    def place_of(self, call: int) -> int | None:
        """How many repeats there were before an object was made; None if it is none that could grow with them."""
        behind = bisect_right(self.calls, call)
        if not behind or (behind < len(self.calls) and not self.is_repeat[behind]):
            return None
        return self.repeats_before[behind]


def _find_rate(launches: _Launches, calls: Sequence[int]) -> tuple[float, list[int]]:
    """Objects for each launch that repeats another, and the calls that made them; 0 for those that did not appear steadily."""
    placed = [(place, call) for call in calls if (place := launches.place_of(call)) is not None]
    places, count = [place for place, _ in placed], launches.repeats_before[-1]
    if len(places) < LEAST or count < LEAST or places[0] == places[-1]:
        return 0, []
    parts = [0] * _PARTS
    for place in places:
        parts[min(place * _PARTS // count, _PARTS - 1)] += 1
    mean = len(places) / _PARTS
    is_steady = all(mean / 2 <= part <= 2 * mean for part in parts)
    rate = (len(places) - places.count(places[-1])) / (places[-1] - places[0])
    return (rate if is_steady else 0), [call for _, call in placed]


def _describe(rate: float) -> str:
    return f"{rate:.3g} a launch" if rate >= 1 else f"1 every {1 / rate:.3g} launches"
