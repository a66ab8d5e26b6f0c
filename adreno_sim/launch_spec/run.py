"""Run a launch on a device and judge it: findings, expected outputs, what the launch file announces."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.machine_code import compile_for_chips, find_refused_groups
from ..backends.open import announce_devices, open_device
from ..backends.simulated import require_variable
from ..base.allow import AllowEntry, apply
from ..base.errors import AdrenoSimError, DeviceError, UnsupportedError
from ..base.specs import View
from ..base.trust.device_string import default_device
from ..base.trust.table import environment_guards
from ..device.inspection import IR, ISA, PROOFS, Inside, find_inspectable, require_inspectable
from ..device.protocol import Device, Kernel, LaunchResult, Watch, refuse_checks
from ..findings import Finding, Kind
from ..frontend.file_options import require_known_options
from ..frontend.options import include_folders
from ..frontend.unlisted_extensions import find_unlisted_extensions
from ..frontend.visible_files import is_visible
from ..results.launch_report import DeviceComparison, LaunchOutput, LaunchReport
from ..results.merge import FindingList
from ..results.notes.source_notes import add_source_notes, name_file
from ..results.stores import describe_stores
from ..results.unwatched import find_unwatched
from .bind import Arrays, BoundArguments, RejectedCall, as_rejected_call, check_names, parameter_name
from .build_errors import name_source
from .contents import MOST_BYTES, LaunchContents
from .expected import match
from .include_folders import add_source_folder
from .kernel_file import choose_kernel, read_launch_source, read_source
from .model import LaunchSpec
from .readings import try_readings
from .second_device import compare_devices, run_beside
from .wanted import WantedOutput, find_wanted

if TYPE_CHECKING:
    from ..results.comparison import Comparison
    from ..results.evidence import Evidence
    from ..timing.launches import LaunchTimer


def run_launch(
    spec: LaunchSpec,
    source: Path | None = None,
    *,
    device: str | Device | None = None,
    checks: str | None = None,
    allow: Sequence[AllowEntry] = (),
    strict: bool = False,
    variant: str = "",
    inside: Inside | None = None,
    explain: bool = False,
    unsafe_includes: bool = False,
    compare_with: str | Device | None = None,
    keep_arrays: bool = False,
    keep_evidence: bool = False,
    counters: bool = False,
    chips: Sequence[str] | None = None,
    all_drivers: bool = False,
    time: bool = False,
    max_time: float | None = None,
    baseline: str | os.PathLike[str] | None = None,
    every_reading: bool = False,
    text: str | None = None,
) -> LaunchReport:
    """Build, launch and judge `spec`. `source`, `device` and `checks` win over what the launch file says. The level is full where
    neither `checks` nor the device's string names another.

    allow: entries besides the launch file's own. inside: filled with the parts that it needs. explain: also say which
    accesses are not proven in range, and why. unsafe_includes: the source reads any file of the host, not only those below its
    own folder and the folders of -I. compare_with: a second device, which runs the launch on the same inputs. keep_arrays: the
    report has what arguments hold afterwards. keep_evidence: it has what a page shows. counters: also count what the
    launch does, on a simulated device. chips: also compile the kernel to their machine code, to the device's own where none is
    named. all_drivers: warn of what any known driver compiles wrongly. every_reading: run the launch again under each choice that
    OpenCL or Qualcomm leaves to the device. text: the source's, where it is not what its file holds.
    Defects, and calls that an OpenCL driver would refuse, are the report's findings. Raises AdrenoSimError for a launch
    file that does not fit the kernel, BuildError, UnsupportedError.
    """
    first = device or spec.device or default_device()
    announce_devices(text for text in (first, compare_with) if isinstance(text, str))
    asked = {"unsafe_includes": unsafe_includes, "counters": counters, "all_drivers": all_drivers}
    opened = _open(spec, device, checks, {name: True for name, wanted in asked.items() if wanted})
    if every_reading:
        require_variable(opened)
    if inside is not None or chips is not None:
        require_inspectable(opened, opened.info.name, "isa" if inside is None else "dump")
    second = None if compare_with is None else _open_second(spec, compare_with, unsafe_includes)
    path = source or spec.source
    if text is None or path is None:
        path, text = read_launch_source(spec, source)
    timer = _make_timer(opened) if time else None
    run = _Run(spec, path, text, opened, inside or Inside(frozenset()), explain, second, keep_arrays, chips, timer, every_reading)
    run.keep_evidence = keep_evidence
    report = LaunchReport(
        spec.kernel, str(path), str(spec.file), variant, opened.info.name, opened.options.checks, spec.global_size,
        spec.local_size, strict, is_test=spec.findings is not None or bool(spec.refused), values=dict(spec.values),
        text=run.text,
    )  # fmt: skip
    try:
        run.fill(report)
    except AdrenoSimError as error:
        if not spec.refused or spec.refused not in str(error):
            raise
        report.refused = str(error)
        return report
    if report.time is not None:
        from ..results.time_limits import TimeWish, find_beyond, find_unjudged

        wish = TimeWish(max_time, baseline)
        run.add(find_beyond(report.time, wish))
        report.unchecked += find_unjudged(report.time, wish)
    findings = run.findings.as_list()
    report.included = run.read_included({finding.file for finding in findings})
    _judge(report, spec, findings, [*spec.allow, *allow])
    return report


def _open(spec: LaunchSpec, device: str | Device | None, checks: str | None, asked: Mapping[str, bool]) -> Device:
    """asked: options that the caller requests, each true."""
    if device is not None and not isinstance(device, str):
        for name in asked:
            if not getattr(device.options, name):
                raise AdrenoSimError(f"{name}=True: the device is already open with {name}=False")
        if checks not in (None, device.options.checks):
            raise AdrenoSimError(f"checks={checks!r}: the device is already open with checks={device.options.checks!r}")
        return device
    options = {**({} if checks is None else {"checks": checks}), **asked}
    opened = open_device(device or spec.device or None, defaults=_defaults(spec, device), **options)
    refuse_checks(opened, checks)
    return opened


def _defaults(spec: LaunchSpec, device: str | None) -> dict[str, Any]:
    """Options of the launch file, at level full: it may ask for no less. Where it names the device, too, guards of the
    environment's device still go before them."""
    options = {**spec.run, "checks": "full"}
    return {**options, **environment_guards()} if spec.device and not device else options


def _open_second(spec: LaunchSpec, device: str | Device, unsafe_includes: bool) -> Device:
    """The device to compare with: it runs as the launch file says, and counts nothing. It checks accesses as far as a kernel must
    be kept inside its memory, and what it sees is not reported twice."""
    if not isinstance(device, str):
        return device
    includes = {"unsafe_includes": True} if unsafe_includes else {}
    return open_device(device, defaults={**spec.run, "checks": "bounds"}, counters=False, **includes)


def _judge(report: LaunchReport, spec: LaunchSpec, findings: list[Finding], allow: Sequence[AllowEntry]) -> None:
    """Sort the findings into expected, allowed, and those that count."""
    matching = match(spec.findings or (), findings)
    sorted_out = apply(allow, matching.unexpected)
    report.findings, report.expected = sorted_out.kept, matching.expected
    report.allowed, report.expired = sorted_out.allowed, sorted_out.expired
    report.missing = [str(expectation) for expectation in matching.missing]
    if spec.refused:
        report.missing.append(f"a refusal that says: {spec.refused}")


def _make_timer(device: Device) -> LaunchTimer:
    """The model of time, which is imported where it is asked for."""
    from ..timing.launches import LaunchTimer

    return LaunchTimer(device)


class _Run:
    """One launch. findings: all of them, with the kernel's name and file."""

    def __init__(
        self, spec: LaunchSpec, path: Path, text: str, device: Device, inside: Inside, explain: bool, second: Device | None,
        keep_arrays: bool, chips: Sequence[str] | None, timer: LaunchTimer | None = None, every_reading: bool = False,
    ):  # fmt: skip
        self.spec, self.path, self.text, self.device = spec, path, text, device
        self.inside, self.explain = inside, explain and device.options.checks != "off"
        self.second, self.keep_arrays, self.chips = second, keep_arrays, chips
        self.timer, self.every_reading, self.keep_evidence = timer, every_reading, False
        self.findings = FindingList()

    def fill(self, report: LaunchReport) -> None:
        """Run, and put into the report everything but the judgement of findings."""
        kernel = self._kernel(self.device)
        report.kernel = kernel.name
        self._add_machine_code(kernel, report)
        check_names(self.spec, kernel.name, kernel.params, named=self.device.info.names_params)
        try:
            self._launch(kernel, report)
        except RejectedCall as refused:
            self._add(kernel, [refused.finding])
            report.unchecked.append("the kernel: it was not run")
        self._add(kernel, self.device.take_warnings())
        report.unchecked += find_unwatched(self.device.options.checks, self.device.info.checks_accesses)
        if not self.spec.outputs and self.spec.reference is None:
            report.unchecked.append("values: the launch file expects no output")
        told = "its values say nothing (see the vacuous-comparison finding)"
        report.unchecked += [f"output {output.argument}: {told}" for output in report.outputs if output.ok and output.vacuous]

    def _kernel(self, device: Device) -> Kernel:
        with name_source(self.path):
            program = device.build(self.text, self._options(device))
        self.add(find_unlisted_extensions(getattr(program, "warnings", ()), device.info.extensions))
        return program[choose_kernel(self.spec, program.kernel_names(), self.path)]

    def _options(self, device: Device) -> str:
        if device.info.profile is None:  # a driver's compiler knows more options, and some of them read files
            require_known_options(self.spec.options)
        return add_source_folder(self.spec.options, self.text, self.path)

    def read_included(self, files: Collection[str]) -> dict[str, str]:
        """The text of those files that the source may have read; a line directive gives a finding any file's name."""
        folders = include_folders(self._options(self.device))
        others = [file for file in files if file and file != str(self.path) and is_visible(file, folders)]
        return {file: read_source(Path(file), folders) for file in others}

    def _launch(self, kernel: Kernel, report: LaunchReport) -> None:
        inspectable = find_inspectable(self.device)
        if IR in self.inside.wanted and inspectable is not None:
            self.inside.ir = inspectable.print_ir(kernel)
        bound = BoundArguments(self.device, self.spec, kernel.params)
        bound.fill()
        self._prove(kernel, bound, report)
        before = bound.read(bound.views) if self.spec.reference is not None or self.second is not None else {}
        written = [index for index in bound.views if kernel.writes(index)]
        wanted = find_wanted(self.spec, kernel.params, bound.values, before, written)
        self._add_time(kernel, bound, report)
        contents = LaunchContents(self.device, self.spec, kernel, bound)
        start = perf_counter()
        result = self._once(kernel, bound, None)
        report.seconds = perf_counter() - start
        self.inside.code = result.code
        report.printed = result.printed
        report.counters = result.counters
        report.unchecked += result.failures
        self._add(kernel, result.findings)
        contents.look()
        report.coverage = list(contents.find_coverage())
        all_written = written if self.keep_arrays or self.second is not None else []
        shown = bound.views if self.keep_evidence else []
        after = bound.read(sorted({*all_written, *shown, *(output.argument for output in wanted)}))
        for output in wanted:
            report.outputs.append(self._compare(kernel, bound, output, after[output.argument]))
        left = {index: after[index] for index in all_written}
        if self.keep_arrays:
            report.arrays = {parameter_name(self.spec, kernel.params, index): array for index, array in left.items()}
        if self.second is not None:
            self._compare_devices(kernel, report, before, left, wanted)
        report.unchecked += [f"what {name} holds: it has more than {MOST_BYTES} bytes" for name in contents.left_out]
        for index, birth in contents.find_births(result.findings):
            line, column, stores = self._stores_to(kernel, bound, index, birth.element)
            detail = {"argument": parameter_name(self.spec, kernel.params, index), "index": (birth.element,)} | stores
            self._add(kernel, [Finding(Kind.NONFINITE_INTRODUCED, birth.sentence, line=line, column=column, detail=detail)])
        self._try_readings(kernel, bound, result, report)
        if self.keep_evidence:
            report.evidence = self._gather(kernel, bound, {index: after[index] for index in shown}, wanted)

    def _try_readings(self, kernel: Kernel, bound: BoundArguments, result: LaunchResult, report: LaunchReport) -> None:
        """Run the launch under other readings: all that were asked for, or at level full the cheap ones."""
        is_full = self.device.info.profile is not None and self.device.options.checks == "full"
        if not self.every_reading and not is_full:
            return
        found, tried = try_readings(self.spec, kernel, bound, self.device, self._kernel, result, self.every_reading)
        self._add(kernel, found)
        report.readings = tried if self.every_reading or tried.tried else None

    def _gather(self, kernel: Kernel, bound: BoundArguments, after: Arrays, wanted: Sequence[WantedOutput]) -> Evidence:
        from ..results.evidence import CallNote
        from .evidence import gather_evidence  # for a page alone

        names = {index: parameter_name(self.spec, kernel.params, index) for index in after}
        named = {index: (names[index], bound.values[index], array) for index, array in after.items()}
        writes = tuple(name for index, name in names.items() if kernel.writes(index))
        launch = (kernel.name, self.spec.global_size, self.spec.local_size or ())
        reads = tuple(name for name in names.values() if name not in writes)
        call = CallNote(kernel.name, "", (launch,), reads, writes)
        watch = partial(self._watch, kernel, bound) if self.device.info.records_stores else None
        return gather_evidence(call, self.findings.as_list(), named, wanted, watch)

    def _watch(self, kernel: Kernel, bound: BoundArguments, view: View, element: int) -> list[dict[str, Any]]:
        """Every store to an element of an argument, in order, of the launch run once more."""
        bound.fill()
        return describe_stores(self._once(kernel, bound, Watch(view, element)).stores, kernel.name, self.text)

    def _add_time(self, kernel: Kernel, bound: BoundArguments, report: LaunchReport) -> None:
        """Predict the time of the launch, on memory as it finds it, if that is asked for."""
        if self.timer is None:
            return
        from ..results.time_report import TimeReport

        report.time = TimeReport.of(self.timer.device)
        if self.spec.global_offset is not None:
            report.time.say_missing(f"{kernel.name}: launches with a global offset have no time")
            return
        report.time.add_launch(self.timer, kernel, self.spec.global_size, self.spec.local_size, bound.values)

    def _add_machine_code(self, kernel: Kernel, report: LaunchReport) -> None:
        """Compile to machine code if that is asked for. What cannot be is named; the launch goes on."""
        if self.chips is None and ISA not in self.inside.wanted:
            return
        try:
            found = compile_for_chips(self.device, kernel, self.chips or ())
        except UnsupportedError as error:
            report.unchecked.append(f"machine code: {error}")
            return
        self.inside.machine_code = found
        if self.chips is not None:
            report.machine_code = found
            self._add(kernel, list(find_refused_groups(self.device, kernel, self.chips, self.spec.local_size)))

    def _prove(self, kernel: Kernel, bound: BoundArguments, report: LaunchReport) -> None:
        """Ask what is proven of the launch if that is asked for. A device that does not know says nothing."""
        dumped = PROOFS in self.inside.wanted
        inspectable = find_inspectable(self.device)
        if inspectable is None or not (dumped or self.explain):
            return
        try:
            sizes = self.spec.global_size, self.spec.local_size
            proofs = inspectable.explain(kernel, *sizes, bound.values, offset=self.spec.global_offset)
        except DeviceError as error:
            raise as_rejected_call(error) from None
        self.inside.proofs = proofs if dumped else None
        report.unproven = proofs.unproven if self.explain else []

    def _once(self, kernel: Kernel, bound: BoundArguments, watch: Watch | None) -> LaunchResult:
        try:
            sizes = self.spec.global_size, self.spec.local_size
            return self.device.launch(kernel, *sizes, bound.values, watch=watch, offset=self.spec.global_offset)
        except DeviceError as error:
            raise as_rejected_call(error) from None

    def _compare(self, kernel: Kernel, bound: BoundArguments, output: WantedOutput, got: np.ndarray) -> LaunchOutput:
        result, place = output.compare(got.reshape(-1))
        name = parameter_name(self.spec, kernel.params, output.argument)
        if not result.ok:
            self._add(kernel, [self._wrong(kernel, bound, output.argument, name, result, place)])
        elif result.uninformative:
            self._add(kernel, [Finding(Kind.UNINFORMATIVE, f"{name} is as expected, which says nothing: {result.uninformative}")])
        return LaunchOutput(
            name, result.ok, result.uninformative, result.wrong, result.elements, result.max_abs, result.max_ulp, place
        )

    def _compare_devices(
        self, kernel: Kernel, report: LaunchReport, before: Arrays, left: Arrays, wanted: Sequence[WantedOutput]
    ) -> None:
        assert self.second is not None
        report.compared = DeviceComparison(self.second.info.name)
        try:
            theirs = run_beside(self.second, self._kernel(self.second), self.spec, before)
        except (AdrenoSimError, RejectedCall) as error:
            report.compared.refused = reason = str(error).splitlines()[0]
            report.unchecked.append(f"the comparison: the launch did not run on {report.compared.device}: {reason}")
            return
        judged = {output.argument: output for output in wanted}
        for index, mine in left.items():
            name = parameter_name(self.spec, kernel.params, index)
            names = (self.device.info.name, self.second.info.name)
            compared, message = compare_devices(name, mine, theirs[index], names, judged.get(index))
            report.compared.arguments.append(compared)
            self._add(kernel, [Finding(Kind.DEVICES_DIFFER, message)] if message else [])

    def _wrong(self, kernel: Kernel, bound: BoundArguments, position: int, name: str, result: Comparison, place: int) -> Finding:
        """The finding of a wrong output, with every store to its worst element where the device can tell."""
        detail: dict[str, Any] = {"argument": name, "index": (place,), "got": result.got, "golden": result.golden}
        line, column, stores = self._stores_to(kernel, bound, position, place)
        return Finding(Kind.WRONG_VALUE, f"{name}: {result}", line=line, column=column, detail=detail | stores)

    def _stores_to(self, kernel: Kernel, bound: BoundArguments, position: int, element: int) -> tuple[int, int, dict[str, Any]]:
        """Line and column of the last store to an element of an argument, and all of them for `detail`: the launch runs once
        more, where the device can tell."""
        if not self.device.info.records_stores:
            return 0, 0, {}
        told = self._watch(kernel, bound, bound.values[position], element)
        line, column = (told[-1]["line"], told[-1]["column"]) if told else (0, 0)
        return line, column, {"stores": told}

    def _add(self, kernel: Kernel, findings: Sequence[Finding]) -> None:
        named = [replace(finding, kernel=finding.kernel or kernel.name) for finding in findings]
        self.add(add_source_notes(finding, self.text) for finding in named)

    def add(self, findings: Iterable[Finding]) -> None:
        """Adds findings of the source."""
        self.findings.add(name_file(finding, str(self.path)) for finding in findings)
