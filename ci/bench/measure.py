"""Times taken in turn, and what is said about them: medians, spread, ratios, geometric means."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from children import ChildError

ROUNDS = 10
"""Turns each device gets; every turn gives one sample or more."""
TURN = 0.003
"""Seconds a turn aims at: short launches are sampled several times a turn."""
LONG = 0.01
"""Seconds from which on a launch is not warmed up in each turn: caches of other processes' data are nothing to it."""
RARE = {"full": 3}
"""Columns that are several times slower than the others take a turn once in so many rounds."""
COUNTS = 1e-3
"""Seconds on the yardstick from which on a launch counts in geometric means."""


@dataclass
class Samples:
    """Seconds of launches."""

    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Distance between the quartiles over the median."""
        if len(self.seconds) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return (high - low) / self.median

    def to_json(self) -> dict[str, float]:
        return {"median": self.median, "least": min(self.seconds), "spread": self.spread, "samples": len(self.seconds)}


class Launcher(Protocol):
    """What can be asked to launch: a child, or one in a certain state."""

    def call(self, method: str, *args: Any) -> Any: ...


Name = TypeVar("Name", bound=Hashable)


def interleaved(children: Mapping[Name, Launcher], rounds: int = ROUNDS) -> tuple[dict[Name, Samples], dict[Name, str]]:
    """Samples of the launch that each child has loaded, a turn each in every round, and by name why a child has none.

    The first launch of a turn is a warm-up, unless it is a long one: the caches hold what the other devices left.
    """
    taken = {name: Samples() for name in children}
    failed: dict[Name, str] = {}
    for number in range(rounds):
        for name, child in children.items():
            if name not in failed and number % RARE.get(str(name), 1) == 0:
                try:
                    taken[name].seconds += _turn(child)
                except ChildError as error:
                    failed[name] = str(error)
    return {name: samples for name, samples in taken.items() if name not in failed}, failed


def _turn(child: Launcher) -> list[float]:
    """Seconds of the launches of one turn that count."""
    first: list[float] = child.call("run", 1)
    if first[0] >= LONG:
        return first
    samples: list[float] = child.call("run", max(1, min(5, int(TURN / first[0]))))
    return samples


def geometric_mean(values: Iterable[float]) -> float:
    """nan of nothing."""
    logs = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logs)) if logs else math.nan
