"""For how long memory is taken, and the most that is taken at one time."""

from __future__ import annotations

from collections.abc import Iterable

from ..artifact.memory_plan import PlannedStorage, PlannedTensor

Span = tuple[int, int]
"""Instants [start, end)."""

ALWAYS: Span = (-(2**62), 2**62)


def live_peak(lives: Iterable[tuple[int, int, int]]) -> int:
    """The largest sum of sizes alive at one time, of (start, end, size) with [start, end)."""
    return peak_at(lives)[0]


def peak_at(lives: Iterable[tuple[int, int, int]]) -> tuple[int, int]:
    """As `live_peak`, and the first time when that is so (0 where nothing ever lives)."""
    changes: dict[int, int] = {}
    for start, end, size in lives:
        changes[start] = changes.get(start, 0) + size
        changes[end] = changes.get(end, 0) - size
    live = peak = when = 0
    for time in sorted(changes):
        live += changes[time]
        if live > peak:
            peak, when = live, time
    return peak, when


def call_span(calls: Iterable[tuple[int, ...]]) -> Span:
    """When a planned storage counts that holds tensors made in these calls: as long as the function runs that they share."""
    found = set(calls)
    if len(found) != 1 or not (call := found.pop()):
        return ALWAYS
    return call[0], call[1] + 1


def storage_spans(storages: Iterable[PlannedStorage], tensors: Iterable[PlannedTensor]) -> dict[str, Span]:
    """When each storage counts: one that was planned while its function runs, one left to the runtime while it exists."""
    calls: dict[str, set[tuple[int, ...]]] = {}
    for tensor in tensors:
        calls.setdefault(tensor.storage, set()).add(tensor.call)
    return {s.id: call_span(calls.get(s.id, ())) if s.planned else (s.first, s.last + 1) for s in storages}
