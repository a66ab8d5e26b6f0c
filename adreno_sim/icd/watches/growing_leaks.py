"""Objects that a program never releases and of which it makes more with every launch: what they would take has no end."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ...findings import Finding, Kind
from ...results.run_report import Leak

LEAST = 8
"""Objects, and launches, from which on a growth is one."""
_PARTS = 4
_WHERE = re.compile(r"call (\d+)(?:, from (.*))?", re.S)


class GrowingLeaks:
    """Knows the launches of a session."""

    def __init__(self) -> None:
        self._calls = array("Q")
        self._kinds = array("q")

    def note_launch(self, call: int, kernel: str, global_size: Sequence[int]) -> None:
        """A launch has run, which this call of the host enqueued."""
        self._calls.append(call)
        self._kinds.append(hash((kernel, tuple(global_size))))

    def find(self, leaks: Sequence[Leak]) -> Iterator[Finding]:
        """A finding for each type and place of the program that made objects steadily. Objects of before the first launch, and of
        a part of the run, as while caches fill, are no growth; nor is one object for each of many different launches, as of the
        layers of a network that runs once."""
        in_order = sorted(zip(self._calls, self._kinds, strict=True))  # threads and events may have run them in another
        self._calls, self._kinds = array("Q", (call for call, _ in in_order)), array("q", (kind for _, kind in in_order))
        made: dict[tuple[str, str], list[int]] = defaultdict(list)
        for leak in leaks:
            found = _WHERE.fullmatch(leak.where)
            if found and bisect_right(self._calls, int(found[1])):
                made[leak.type, found[2] or ""].append(int(found[1]))
        for (type, place), calls in made.items():
            rate = self._find_rate(sorted(bisect_right(self._calls, call) for call in calls))
            if rate:
                where = f", from {place}" if place else ""
                sentence = (
                    f"{len(calls)} objects {type} that were made since the first launch are never released: they grow by "
                    f"{_describe(rate)}, the first made by call {min(calls)}{where}"
                )
                yield Finding(Kind.LEAK_GROWS, sentence)

    def _find_rate(self, places: list[int]) -> float:
        """Objects a launch, of objects each made behind so many launches; 0 for those that did not come up steadily."""
        if len(places) < LEAST:
            return 0
        first, last = places[0] - 1, len(self._calls)
        launches = last - first
        if launches < LEAST or 2 * len(set(self._kinds[first:last])) > launches or places[0] == places[-1]:
            return 0
        parts = [0] * _PARTS
        for place in places:
            parts[(place - 1 - first) * _PARTS // launches] += 1
        mean = len(places) / _PARTS
        is_steady = all(mean / 2 <= part <= 2 * mean for part in parts)
        return (len(places) - places.count(places[0])) / (places[-1] - places[0]) if is_steady else 0


def _describe(rate: float) -> str:
    return f"{rate:.3g} a launch" if rate >= 1 else f"1 every {1 / rate:.3g} launches"
