"""What the stages of a check share: what is asked for, what is found so far, and the run of the model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....backends.open import open_device
from ....base.errors import AdrenoSimError
from ....base.processes.interrupts import raise_if_interrupted
from ....base.profiling.sampler import note_span
from ....base.progress import Progress
from ....device.protocol import Device
from ....findings import Kind
from ....memory.spilled import drop_resident_pages
from ....records import dataclass
from ....results.evidence import Evidence
from ....results.merge import FindingList
from ....results.model import Report
from ...run.builds import Builds
from ..judging.judges import Judges
from ..judging.observer import KernelObserver
from ..prepare import CheckOptions, PreparedRun
from ..whole_model.inputs import Outputs

if TYPE_CHECKING:
    from ...run.launch_readings import ReadingsObserver
    from ...run.launch_times import LaunchTimes
    from ..reproduce import Reproducer


@dataclass
class CheckContext:
    """One check on a device. asked: the caller's RunOptions, which a second device gets too. refused: kernels that do not build,
    by name, with the reason. audited: kinds of findings about the memory plan.
    """

    device: Device
    options: CheckOptions
    progress: Progress
    asked: dict[str, Any] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    findings: FindingList = field(default_factory=FindingList)
    refused: dict[str, AdrenoSimError] = field(default_factory=dict)
    audited: set[Kind] = field(default_factory=set)
    evidence: Evidence = field(default_factory=Evidence)

    @contextmanager
    def stage(self, name: str, steps: int = 0) -> Iterator[None]:
        """Times a stage; one of a name that was there before is added to it. Stages do not nest."""
        self.progress.stage(name, steps)
        start = time.perf_counter()
        try:
            yield
            raise_if_interrupted()
        finally:
            drop_resident_pages()
            end = time.perf_counter()
            note_span(name, start, end)
            self.timings[name] = self.timings.get(name, 0.0) + end - start


class Watchers:
    """What examines launches besides the judges, and the device for comparison: made before a model is compiled, so that what is
    asked for in vain is refused at once. None: not asked for."""

    def __init__(self, context: CheckContext):
        options, device = context.options, context.device
        self.reproducer = _make_reproducer(options)
        self.times = _make_times(device) if options.time else None
        self.readings = _make_readings(context)
        self.second_device = None if options.compare_with is None else open_device(options.compare_with, **context.asked)


def _make_reproducer(options: CheckOptions) -> Reproducer | None:
    if options.reproduce is None:
        return None
    from ..reproduce import Reproducer

    return Reproducer(Path(options.reproduce), options.reproduce_kernel)


def _make_times(device: Device) -> LaunchTimes:
    from ...run.launch_times import LaunchTimes

    return LaunchTimes(device)


def _make_readings(context: CheckContext) -> ReadingsObserver | None:
    if not context.options.every_reading and context.device.options.checks != "full":
        return None
    from ...run.launch_readings import ReadingsObserver

    return ReadingsObserver(context.device, context.options.every_reading, context.findings)


@dataclass
class CheckedRun:
    """The run of a prepared model. outputs: None if it ended early; the report says why."""

    context: CheckContext
    ready: PreparedRun
    report: Report
    watchers: Watchers
    builds: Builds | None
    judges: Judges
    observer: KernelObserver
    outputs: Outputs | None = None
