"""A launch file's launch under each reading of OpenCL: it begins each time with what the file says of its memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.errors import DeviceError
from ..device.inspection import find_inspectable
from ..device.protocol import Device, Kernel, LaunchResult, Watch
from ..findings import Finding, Severity
from ..image.formats import CHANNEL_TYPES
from ..readings.difference import Judging
from ..readings.run import ReadingRun, ReadingsOutcome
from ..readings.subject import make_subject
from ..readings.table import CHEAP, READINGS
from ..results.readings import ReadingsReport
from .bind import BoundArguments, RejectedCall, parameter_name
from .model import ImageArgument, LaunchSpec


def try_readings(
    spec: LaunchSpec,
    kernel: Kernel,
    bound: BoundArguments,
    device: Device,
    build: Callable[[Device], Kernel],
    result: LaunchResult,
    all_of_them: bool,
) -> tuple[list[Finding], ReadingsReport]:
    """Run a launch, whose result is `result`, under each reading that can matter to it, or under the cheap ones alone. build:
    makes the kernel for another device. Returns what depends on a reading, and what was tried.
    """
    readings = READINGS if all_of_them else CHEAP
    report = ReadingsReport(kernel=kernel.name)
    if any(finding.severity is Severity.ERROR for finding in result.findings):
        report.leave_out([reading.name for reading in readings], "the launch has errors, so that what it leaves says nothing")
        return [], report

    def find_conflicts() -> Sequence[str]:
        inspectable = find_inspectable(device)
        assert inspectable is not None
        proofs = inspectable.explain(kernel, spec.global_size, spec.local_size, bound.values, offset=spec.global_offset)
        return [*(proof.reason for proof in proofs.sharing), *proofs.failures]

    subject = make_subject(device, kernel, (spec.global_size, spec.local_size), bound.values, find_conflicts)
    run = ReadingRun(subject, _SpecLaunch(spec, kernel, build), device, _judging(spec, subject.rounds_to_integers), report=report)
    run.try_all(readings)
    return run.findings, run.report


def _judging(spec: LaunchSpec, rounds: Callable[[], bool]) -> Judging:
    tolerances = {output.argument: output.tolerance for output in spec.outputs if output.tolerance is not None}
    images = {index: argument.spec for index, argument in enumerate(spec.arguments) if isinstance(argument, ImageArgument)}
    normalized = frozenset(index for index, one in images.items() if CHANNEL_TYPES[one.channel_type][1] in ("unorm", "snorm"))
    return Judging(tolerances, normalized, rounds)


class _SpecLaunch:
    """Implements `readings.run.Launch`."""

    def __init__(self, spec: LaunchSpec, kernel: Kernel, build: Callable[[Device], Kernel]):
        self._spec, self._kernel, self._build = spec, kernel, build

    def run(
        self, device: Device, group: tuple[int, int, int], *, watched: tuple[int, int] | None = None, nudge: Any = None
    ) -> ReadingsOutcome:
        spec = self._spec
        kernel = self._build(device)
        try:
            bound = BoundArguments(device, spec, kernel.params)
            bound.fill(nudge)
        except RejectedCall as refused:
            code = str(refused.finding.detail["code"])
            raise DeviceError(code, refused.finding.message.removeprefix(f"{code}: ")) from None
        try:
            watch = None if watched is None else Watch(bound.values[watched[0]], watched[1])
            sizes = spec.global_size, group[: len(spec.global_size)]
            result = device.launch(kernel, *sizes, bound.values, watch=watch, offset=spec.global_offset)
            written = [index for index in bound.views if kernel.writes(index)]
            return ReadingsOutcome(bound.read(written), result.findings, result.stores)
        finally:
            bound.free()

    def name_argument(self, index: int) -> str:
        return parameter_name(self._spec, self._kernel.params, index)
