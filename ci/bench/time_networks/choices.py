"""What a phone's search would choose for the convolutions of networks: the schedule of its record, where a convolution has one,
else the fastest by the model of some schedules; and Winograd's algorithm where that is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from time_records.candidates import draw_schedules, list_neighbours
from time_records.count import count_kernels
from time_records.kernels import TimedKernel, kernels_of
from time_records.record import Record
from time_records.winograd import Winograd, draw_winograds, has_winograd, winograd_kernels

from adreno_sim.timing.figures import LaunchFigures
from adreno_sim.timing.machines import RECORDS
from adreno_sim.timing.model import predict

COPIES = 2
"""Of the launches of a tuned function: the first, which fill its textures. A network does not make them."""
SEED = 1

Schedule = TypeVar("Schedule", Record, Winograd)


@dataclass(frozen=True)
class Search:
    """How schedules are searched. draw: random ones of a convolution; steps: from the best to `width` neighbours of it. keep: a
    file of counts. until: by `time.monotonic`, when counting stops."""

    draw: int
    steps: int
    width: int
    keep: Path | None
    jobs: int
    until: float = float("inf")


@dataclass(frozen=True)
class Timed:
    """Predicted seconds of a tuned function: of its copies, and of the launches behind them."""

    copies: float
    own: float

    @property
    def whole(self) -> float:
        return self.copies + self.own


@dataclass(frozen=True)
class Choice:
    """A convolution. direct: its kernel. winograd: Winograd's launches, where TVM may take them. measured: seconds of its record,
    None without one."""

    direct: Timed
    winograd: Timed | None
    measured: float | None

    @property
    def measured_own(self) -> float:
        """The seconds of the record without its copies, as predicted; without a record those of the model."""
        return self.direct.own if self.measured is None else self.measured - self.direct.copies

    @property
    def saved(self) -> float:
        """Predicted seconds that Winograd's algorithm saves, where a search takes it: a search counts the copies too."""
        if self.winograd is None or self.winograd.whole >= self.direct.whole:
            return 0.0
        return max(0.0, self.direct.own - self.winograd.own)


Choices = Mapping[tuple[object, ...], Choice]
"""By the workload of a convolution."""


def find_schedules(wanted: Iterable[Record], search: Search) -> tuple[list[Record], list[float]]:
    """Returns for each convolution the schedule with the lowest predicted time, and how many times as long the best of the random
    ones takes."""
    drawn = [draw_schedules(one, search.draw, SEED) for one in wanted]
    best = first = _find_best(drawn, kernels_of, search)
    tried = [set(some) for some in drawn]
    for _ in range(search.steps):
        further = []
        for found, known in zip(best, tried, strict=True):
            new = [one for one in list_neighbours(found[0], SEED) if one not in known][: search.width] if found else []
            known.update(new)
            further.append(new)
        pairs = zip(best, _find_best(further, kernels_of, search), strict=True)
        best = [min(filter(None, pair), key=lambda found: found[1].own, default=None) for pair in pairs]
    found = [(now, start) for now, start in zip(best, first, strict=True) if now and start]
    return [replace(one, seconds=time.own) for (one, time), _ in found], [start.own / time.own for (_, time), (_, start) in found]


def compare(scheduled: Mapping[str, Sequence[Record]], search: Search) -> Choices:
    """Returns the predicted and measured times of each convolution. scheduled: convolutions with schedules, those that have
    records as "recorded"."""
    every = [(origin, record) for origin, records in scheduled.items() for record in records]
    direct = _find_best([[record] for _, record in every], kernels_of, search)
    tiled = [draw_winograds(record, search.draw, SEED) if has_winograd(record) else [] for _, record in every]
    winograd = _find_best(tiled, winograd_kernels, search)
    return {
        record.workload: Choice(one[1], other[1] if other else None, record.seconds if origin == "recorded" else None)
        for (origin, record), one, other in zip(every, direct, winograd, strict=True)
        if one
    }


def _find_best(
    tasks: Sequence[Sequence[Schedule]], kernels: Callable[[Schedule], list[TimedKernel]], search: Search
) -> list[tuple[Schedule, Timed] | None]:
    """Of each task the schedule that takes least time behind its copies; None where none is counted."""
    launches = [(kernels(one), one.dtype) for some in tasks for one in some]
    counted = iter(count_kernels(launches, search.keep, search.jobs, search.until))
    found = []
    for some in tasks:
        timed = [(one, _time(figures)) for one in some if (figures := next(counted)) is not None]
        found.append(min(timed, key=lambda each: each[1].own, default=None))
    return found


def _time(launches: Sequence[LaunchFigures]) -> Timed:
    seconds = [float(predict(figures, RECORDS).seconds) for figures in launches]
    return Timed(sum(seconds[:COPIES]), sum(seconds[COPIES:]))
