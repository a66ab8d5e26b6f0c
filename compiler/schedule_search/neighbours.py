"""Schedules that differ from one in a single choice: where a search goes on from the best that it has found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..schedule_database.store import decisions_of, variant_of
from ..tvm_bridge.versions import import_tvm
from .space import MOST_INNER, UNROLL

Key = tuple[str, ...]
"""The variant of a candidate, and what was chosen for it, as text."""

_BETWEEN = "x"
"""What is between the sizes of a tile."""


class Neighbours:
    """The neighbours of the schedules of a space. spaces: a schedule of each variant."""

    def __init__(self, spaces: Iterable[Any]):
        self._traces = {variant_of(one.trace): one.trace for one in spaces}
        self._choices = {variant: len(decisions_of(trace)) for variant, trace in self._traces.items()}

    def list_keys(self, key: Key) -> Iterator[Key]:
        """Yields the keys with another variant, another number of UNROLL, or with a prime factor of a tile in another place."""
        variant, *decisions = key
        for other, choices in self._choices.items():
            if other != variant and choices == len(decisions):
                yield other, *decisions
        for number, decision in enumerate(decisions):
            for changed in _change(decision):
                yield variant, *decisions[:number], changed, *decisions[number + 1 :]

    def make_schedule(self, module: Any, key: Key) -> Any:
        """Returns the schedule of a key."""
        variant, *decisions = key
        trace = self._traces[variant]
        sampled = [inst for inst in trace.insts if inst in trace.decisions]
        for inst, decision in zip(sampled, decisions, strict=True):
            trace = trace.with_decision(inst, _read(decision), remove_postproc=False)
        schedule = import_tvm().s_tir.Schedule(module)
        trace.apply_to_schedule(schedule, remove_postproc=False)
        return schedule

    def pick_next(self, ranked: Iterable[tuple[Key, float]], seen: set[Key], generator: np.random.Generator) -> Key | None:
        """Returns a neighbour that is not in `seen`, by chance, of the best candidate that has one. None if none has."""
        for key, _ in sorted(ranked, key=lambda pair: pair[1]):
            if missing := [other for other in self.list_keys(key) if other not in seen]:
                return missing[int(generator.integers(len(missing)))]
        return None


def _read(decision: str) -> Any:
    return [int(size) for size in decision.split(_BETWEEN)] if _BETWEEN in decision else int(decision)


def _change(decision: str) -> Iterator[str]:
    chosen = _read(decision)
    if isinstance(chosen, int):
        yield from (str(other) for other in range(len(UNROLL)) if other != chosen)
        return
    for source, size in enumerate(chosen):
        for factor in _list_primes(size):
            for target in range(len(chosen)):
                sizes = list(chosen)
                sizes[source] //= factor
                sizes[target] *= factor
                if target != source and sizes[-1] <= MOST_INNER:
                    yield _BETWEEN.join(map(str, sizes))


def _list_primes(size: int) -> list[int]:
    """The prime factors of a size, each once."""
    return [one for one in range(2, size + 1) if size % one == 0 and all(one % less for less in range(2, one))]
