"""A sampled run as a trace in the Trace Event Format (ui.perfetto.dev opens it), and as a table of its stages."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from ...records import dataclass
from .sampler import INTERVAL

Event = dict[str, Any]
_REST = "(other)"


@dataclass
class Samples:
    """What was sampled, by process and thread. Times are seconds of one clock. processor: (time, processor seconds so far) of a
    process."""

    main: int
    stacks: dict[tuple[int, str], list[tuple[float, float, list[str]]]] = field(default_factory=lambda: defaultdict(list))
    processor: dict[int, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    spans: list[tuple[str, float, float]] = field(default_factory=list)

    @classmethod
    def gather(cls, main: int, records: Iterable[list[Any]]) -> Samples:
        """main: the process whose stages these are."""
        found = cls(main)
        for kind, process, *rest in records:
            if kind == "stack":
                found.stacks[process, rest[0]].append((rest[1], rest[2], rest[3]))
            elif kind == "processor":
                found.processor[process].append((rest[0], rest[1]))
            else:
                found.spans.append((rest[0], rest[1], rest[2]))
        return found

    @property
    def ends(self) -> tuple[float, float]:
        """When the main process began to be sampled, and when that ended."""
        times = [at for at, _ in self.processor[self.main]]
        return (times[0], times[-1]) if times else (0.0, 0.0)

    def count_processor(self, start: float, end: float) -> float:
        """Returns the processor seconds of all processes between two times."""
        return sum(_at(points, end) - _at(points, start) for points in self.processor.values())


@dataclass(frozen=True)
class StageCost:
    """A stage: seconds by the clock, and processor seconds of all processes in that time."""

    name: str
    seconds: float
    processor: float


def list_stages(samples: Samples) -> list[StageCost]:
    """Returns what each stage took, in order, and what all between them did."""
    start, end = samples.ends
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for name, begin, stop in sorted(samples.spans, key=lambda span: span[1]):
        found[name][0] += stop - begin
        found[name][1] += samples.count_processor(begin, stop)
    whole = samples.count_processor(start, end)
    found[_REST][0] += end - start - sum(seconds for seconds, _ in found.values())
    found[_REST][1] += whole - sum(processor for _, processor in found.values())
    return [StageCost(name, seconds, processor) for name, (seconds, processor) in found.items()]


def make_trace(samples: Samples) -> Event:
    """Returns the trace: stages, stacks as slices, and for each process how many processors it keeps busy."""
    start, _ = samples.ends
    events: list[Event] = []
    threads: dict[tuple[int, str], int] = {}
    for process in samples.processor:
        name = "adreno-sim" if process == samples.main else "child by fork"
        events.append({"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}})
    for process, thread in samples.stacks:
        number = threads[process, thread] = len(threads) + 1
        events.append({"ph": "M", "name": "thread_name", "pid": process, "tid": number, "args": {"name": thread}})
    for name, begin, stop in samples.spans:
        events.append(_slice(name, samples.main, 0, begin - start, stop - start))
    for (process, thread), stacks in samples.stacks.items():
        for label, begin, stop in _join(stacks):
            events.append(_slice(label, process, threads[process, thread], begin - start, stop - start))
    for process, points in samples.processor.items():
        for (before, spent), (at, more) in itertools.pairwise(points):
            busy = (more - spent) / max(at - before, 1e-6)
            events.append({"ph": "C", "name": "processors", "pid": process, "ts": (before - start) * 1e6, "args": {"busy": busy}})
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _slice(name: str, process: int, thread: int, start: float, end: float) -> Event:
    return {"ph": "X", "name": name, "pid": process, "tid": thread, "ts": round(start * 1e6), "dur": round((end - start) * 1e6)}


def _join(stacks: Iterable[tuple[float, float, list[str]]]) -> Iterator[tuple[str, float, float]]:
    """Joins what consecutive stacks have in common: (function, start, end), each as long as it stays where it is."""
    open_frames: list[tuple[str, float]] = []
    last = 0.0
    for start, end, stack in sorted(stacks, key=lambda found: found[0]):
        same = 0
        if start - last <= 2 * INTERVAL:
            while same < min(len(open_frames), len(stack)) and open_frames[same][0] == stack[same]:
                same += 1
        for label, begin in open_frames[same:]:
            yield label, begin, last
        open_frames = [*open_frames[:same], *((label, start) for label in stack[same:])]
        last = end
    for label, begin in open_frames:
        yield label, begin, last


def _at(points: list[tuple[float, float]], time: float) -> float:
    """Processor seconds of a process at a time, between its points by proportion."""
    if not points or time <= points[0][0]:
        return points[0][1] if points else 0.0
    for (before, spent), (at, more) in itertools.pairwise(points):
        if time <= at:
            return spent + (more - spent) * (time - before) / max(at - before, 1e-9)
    return points[-1][1]
