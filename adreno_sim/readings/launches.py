"""The launches of a program under each reading: of a kernel, the first launch of each size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..backends.sim.program import SimKernel
from ..base.specs import ImageSpec
from ..device.inspection import find_inspectable
from ..device.protocol import Device
from ..findings import Finding, Severity
from ..image.formats import CHANNEL_TYPES
from ..memory.storage import StorageView
from ..results.readings import ReadingsReport
from .difference import Judging
from .reading import Reading
from .run import ReadingRun
from .subject import Subject, make_subject
from .view_launch import ViewLaunch

_REBUILDING = ("finite-math", "version")
"""Readings under which the source is compiled again."""


class LaunchReadings:
    """Runs launches again as they come: `begin` one before it runs, and `end` it behind it. excluded: readings that cannot
    be tried here, by name, with the reason. report: what was tried for each kernel."""

    def __init__(
        self,
        device: Device,
        readings: Sequence[Reading],
        excluded: Mapping[str, str],
        report: ReadingsReport | None = None,
    ):
        self._device, self._readings, self._excluded = device, readings, excluded
        self._seen: set[object] = set()
        self._now: tuple[ViewLaunch, Subject, list[Reading], ReadingsReport] | None = None
        self.report = ReadingsReport() if report is None else report

    def begin(
        self,
        kernel: SimKernel,
        sizes: tuple[Sequence[int], Sequence[int] | None, Sequence[int] | None],
        arguments: Sequence[Any],
        obstacle: str = "",
    ) -> None:
        """Examine a launch over `sizes`: global, local or None, offset or None. obstacle: why it cannot run elsewhere, if so."""
        self._now = None
        global_size, local_size, offset = sizes
        shapes = tuple(one.shape if isinstance(one, StorageView) else None for one in arguments)
        key = kernel.function, tuple(global_size), local_size and tuple(local_size), shapes
        if key in self._seen:
            self.report.repeated += 1
            return
        self._seen.add(key)
        subject = make_subject(
            self._device,
            kernel,
            (global_size, local_size),
            arguments,
            self._conflicts(kernel, sizes, arguments),
        )
        launch = ViewLaunch(self._device, kernel, global_size, offset, arguments)
        report = ReadingsReport(kernel=kernel.name)
        wanted = [reading for reading in self._readings if not self._leave_out(reading, subject, launch, obstacle, report)]
        if wanted:
            launch.keep_contents()
        self._now = launch, subject, wanted, report

    def end(self, found: Sequence[Finding]) -> list[Finding]:
        """Run the launch that has begun again; `found` is its result. Returns what depends on a reading."""
        if self._now is None:
            return []
        launch, subject, wanted, report = self._now
        self._now = None
        if not wanted:  # the rest reads the kernel's body, which a program that is on disk would be compiled for
            self.report.add(report)
            return []
        run = ReadingRun(subject, launch, self._device, _judging(subject), report=report)
        if any(finding.severity is Severity.ERROR for finding in found):
            report.leave_out([one.name for one in wanted], "the launch has errors, so that what it leaves says nothing")
        else:
            run.try_all(wanted)
        self.report.add(report)
        return run.findings

    def drop(self) -> None:
        """The launch that has begun was refused."""
        self._now = None

    def _leave_out(self, reading: Reading, subject: Subject, launch: ViewLaunch, obstacle: str, report: ReadingsReport) -> bool:
        reason = self._excluded.get(reading.name) or reading.why_not(subject) or obstacle or launch.obstacle
        if not reason and reading.name in _REBUILDING and not launch.builds_again():
            reason = "its program does not come from its source alone: it was linked from others, or reads files"
        if reason:
            report.leave_out([reading.name], reason)
        return bool(reason)

    def _conflicts(
        self,
        kernel: SimKernel,
        sizes: tuple[Sequence[int], Sequence[int] | None, Sequence[int] | None],
        arguments: Sequence[Any],
    ) -> Callable[[], Sequence[str]]:
        inspectable = find_inspectable(self._device)
        assert inspectable is not None

        def find() -> Sequence[str]:
            proofs = inspectable.explain(kernel, *sizes[:2], arguments, offset=sizes[2])
            return [*(proof.reason for proof in proofs.sharing), *proofs.failures]

        return find


def _judging(subject: Subject) -> Judging:
    images = {index: one.spec for index, one in enumerate(subject.arguments) if isinstance(one, StorageView)}
    normalized = frozenset(
        index
        for index, spec in images.items()
        if isinstance(spec, ImageSpec) and CHANNEL_TYPES[spec.channel_type][1] in ("unorm", "snorm")
    )
    return Judging(normalized=normalized, rounds=subject.rounds_to_integers)
