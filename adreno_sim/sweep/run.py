"""A whole sweep: what is done already, what is left, and the sum of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.version import __version__
from ..records import dataclass
from ..results.unwatched import find_lowest, find_unwatched
from . import engines
from .case import STATUSES, Case, Result, case_json
from .store import ResultStore

SCHEMA = "adreno-sim/sweep/1"

RANK = (1, 4, 2, 3, 0)
"""Exit codes, the one that outranks the others first."""


@dataclass(frozen=True)
class Sweep:
    """Every case with its result, in the order given."""

    results: tuple[tuple[Case, Result], ...]

    @property
    def exit_code(self) -> int:
        """That of the worst case: findings, then what broke, bad input, unsupported, ok."""
        return min((result.outcome.exit_code for _, result in self.results), key=RANK.index, default=0)

    @property
    def lowest_level(self) -> str:
        """The level of checks of the case that checks least; "" if all ran on real devices."""
        return find_lowest(case.level for case, _ in self.results if case.level)

    def counts(self) -> dict[str, int]:
        """Cases by status."""
        found = [result.outcome.status for _, result in self.results]
        return {status: found.count(status) for status in STATUSES}

    def as_json(self) -> dict[str, Any]:
        """JSON-ready data of schema adreno-sim/sweep/1."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "exit_code": self.exit_code,
            "counts": self.counts(),
            "unchecked": find_unwatched(self.lowest_level),
            "cases": [case_json(case, result) for case, result in self.results],
        }


def sweep(
    cases: Sequence[Case],
    store: ResultStore,
    *,
    limit: float,
    jobs: int = 1,
    scheduler: str = "",
    fresh: bool = False,
    retry: bool = False,
    told: Callable[[Case, Result], None] = lambda case, result: None,
) -> Sweep:
    """Run the cases that `store` has no result of (fresh: all of them; retry: also those whose process broke down).

    limit: seconds for each. scheduler: address of a Dask scheduler, "" for `jobs` processes here. told: of each, as it ends.
    """
    known = {} if fresh else {case: result for case in cases if (result := store.get(case, retry)) is not None}
    for case, result in known.items():
        told(case, result)
    left = [case for case in cases if case not in known]
    found = dict(known)
    if left:
        running = engines.on_cluster(left, limit, scheduler) if scheduler else engines.on_this_machine(left, limit, jobs)
        for case, result in running:
            store.put(case, result)
            found[case] = result
            told(case, result)
    return Sweep(tuple((case, found[case]) for case in cases))
