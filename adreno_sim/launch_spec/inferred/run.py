"""Several launches of each kernel of a file, and the findings of all: those of the smallest launch first."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...backends.open import open_device, suggest_device
from ...backends.sim.program import SimKernel
from ...base.allow import AllowEntry
from ...base.errors import AdrenoSimError, BuildError, OptionError
from ...base.trust.device_string import default_device
from ...device.protocol import Device, Program
from ...findings import Kind, Severity, place_of
from ...records import dataclass
from ...results.launch_report import LaunchReport, TriedLaunch
from ..build_errors import name_source
from ..include_folders import add_source_folder
from ..kernel_file import read_source, require_kernels, require_regular_file
from ..mending.launch import run_and_mend
from ..model import BufferArgument, ImageArgument, LaunchSpec
from ..run import run_launch
from . import infer
from .infer import InferredKernel

if TYPE_CHECKING:
    from .choose import Shape

SIZES = (1, 128)
"""Sizes of an axis that are tried where nobody bounds them."""
MARK = "# The smallest launch that fails, of those that adreno-sim kernel tried."
_VERSION = re.compile(r"-cl-std=CL[0-9.]+$", re.MULTILINE)
"""What the front end says of a source that builds with another version."""
SHOWN = 4
"""Arguments whose extents are named in a sentence."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for. device: a simulated one's string; checks: as of run_launch. kernel: by name, "" for all of the file.
    sizes: the least and the most that an axis has. keep_evidence: the report has what a page shows, of the smallest launch that
    fails. patch: a patch of that one is looked for."""

    device: str | None = None
    checks: str | None = None
    kernel: str = ""
    options: str = ""
    sizes: tuple[int, int] = SIZES
    allow: Sequence[AllowEntry] = ()
    strict: bool = False
    unsafe_includes: bool = False
    all_drivers: bool = False
    keep_evidence: bool = False
    patch: bool = False


def run_inferred(source: Path, target: Path, wanted: Wanted) -> tuple[LaunchReport, str]:
    """Run the launches that are inferred of the kernels of a file. Returns the report of all, and the launch file of the smallest
    launch that fails, "" if none does.

    target: where that file will lie. Raises AdrenoSimError, BuildError; UnsupportedError if no launch of a kernel can run.
    """
    text = read_source(source)
    require_regular_file(source)
    looking = _open_bounds(wanted)
    with name_source(source):
        program, options = _build(looking, text, source, wanted.options)
    names = _choose_kernels(source, program.kernel_names(), wanted.kernel)
    said = (", ".join(names), str(source), "", "", looking.info.name, wanted.checks or "full")
    report = LaunchReport(*said, (), None, wanted.strict, text=text, tried=[])
    failing = ""
    for name in names:
        kernel = program[name]
        assert isinstance(kernel, SimKernel)
        relative = os.path.relpath(source, target.parent)
        inferred = InferredKernel(looking, kernel, target, relative, options, source.parent)
        failed = _run_kernel(inferred, source, wanted, report, several=len(names) > 1)
        failing = failing or failed
    report.launch = str(target) if failing else ""
    if not report.global_size and report.tried:
        _take_sizes(report, report.tried[-1])
    return report, failing


def _open_bounds(wanted: Wanted) -> Device:
    text = wanted.device or default_device()
    if not text.startswith("sim:"):
        told = f"{text}: expected a simulated device, sim:PROFILE, as launches are inferred on one; or --launch"
        raise OptionError("device", f"{told}{suggest_device(text)}")
    asked: dict[str, Any] = {"unsafe_includes": True} if wanted.unsafe_includes else {}
    opened = open_device(text, checks="bounds", timeout=infer.SECONDS, **asked)
    return opened


def _build(device: Device, text: str, source: Path, options: str) -> tuple[Program, str]:
    """The program, and the options that it builds with: where none are given, the version of OpenCL C that it is written in."""
    try:
        return device.build(text, add_source_folder(options, text, source)), options
    except BuildError as error:
        version = _VERSION.search(str(error))
        if options or version is None:
            raise
        return device.build(text, add_source_folder(version[0], text, source)), version[0]


def _choose_kernels(source: Path, names: Sequence[str], chosen: str) -> list[str]:
    require_kernels(names, source)
    if chosen and chosen not in names:
        raise AdrenoSimError(f"--kernel: {chosen}: the kernels of {source} are {', '.join(names)}")
    return [chosen] if chosen else list(names)


def _run_kernel(inferred: InferredKernel, source: Path, wanted: Wanted, report: LaunchReport, several: bool) -> str:
    """Run the launches of one kernel into the report. Returns the launch file of the first that fails, "" if none does."""
    failing, seen = "", set[object]()
    name, refused = inferred.kernel.name, ""
    tried: list[TriedLaunch] = []
    for shape in inferred.list_shapes(*wanted.sizes):
        try:
            text, spec = inferred.launch(shape)
            run = run_and_mend if wanted.patch and not failing else run_launch
            one = run(
                spec, source, device=wanted.device, checks=wanted.checks, allow=wanted.allow, strict=wanted.strict,
                unsafe_includes=wanted.unsafe_includes, all_drivers=wanted.all_drivers,
                keep_evidence=wanted.keep_evidence,
            )  # fmt: skip
        except AdrenoSimError as error:
            refused = refused or str(error).splitlines()[0]
            continue
        words = describe(inferred, shape, spec)
        tried.append(TriedLaunch(name, shape.total, shape.group, dict(spec.values), words, len(one.counting)))
        report.checks, report.device = one.checks, one.device
        report.seconds += one.seconds
        report.included |= one.included
        if one.counting and not failing:
            failing = f"{MARK}\n{text}"
            if report.evidence is None and one.evidence is not None:
                report.evidence, one.evidence.launch = one.evidence, words
            if not report.global_size:
                _take_sizes(report, tried[-1])
        _add_new(report, one, words, seen)
        if any(finding.kind is Kind.WATCHDOG for finding in one.findings):  # so do the others, each for as long
            break
    if not tried:
        told = f"no launch of it could be inferred: {refused}"
        raise AdrenoSimError(f"kernel {name}: {told}; adreno-sim init writes a file for --launch")
    report.tried = [*(report.tried or ()), *tried]
    _add_unchecked(report, inferred, several)
    return failing


def _take_sizes(report: LaunchReport, tried: TriedLaunch) -> None:
    report.global_size, report.local_size, report.values = tried.global_size, tried.local_size, tried.values


def _add_new(report: LaunchReport, one: LaunchReport, words: str, seen: set[object]) -> None:
    """Add the findings of a launch that no smaller one had, each with the sizes under which it was found."""
    for finding in one.findings:
        place = place_of(finding)
        if place in seen or finding.kind is Kind.UNINFORMATIVE:
            continue
        seen.add(place)
        assumed = finding.severity is not Severity.NOTE
        message = f"with {words}: {finding.message}" if assumed else finding.message
        report.findings.append(replace(finding, message=message, detail={**finding.detail, "launch": words}))
    for allowed in one.allowed:
        if place_of(allowed.finding) not in seen:
            seen.add(place_of(allowed.finding))
            report.allowed.append(allowed)
    report.expired += [entry for entry in one.expired if entry not in report.expired]
    nothing = "values: the launch file expects no output"
    report.unchecked += [line for line in one.unchecked if line not in report.unchecked and line != nothing]


def _add_unchecked(report: LaunchReport, inferred: InferredKernel, several: bool) -> None:
    """What launches that are guessed leave open."""
    of = f"kernel {inferred.kernel.name}: " if several else ""
    if unknown := [inferred.kernel.params[index].name for index in sorted(inferred.unknown)]:
        told = f"{of}bounds of {', '.join(unknown)}: the code does not say how large; as much as each launch touches was given"
        report.unchecked.append(told)
    if fitted := [inferred.kernel.params[index].name for index in sorted(inferred.fitted)]:
        told = (
            f"{of}bounds of {', '.join(fitted)}: the code does not say how large; sizes were fitted to what each launch touches"
        )
        report.unchecked.append(told)
    if inferred.ties.one_group:
        what = "group" if inferred.chooser.group else "work-item"
        report.unchecked.append(f"{of}several {what}s: no id of all work-items says what is accessed; one {what} was launched")
    values = "values: no launch file says what is right"
    if values not in report.unchecked:
        report.unchecked.append(values)


def describe(inferred: InferredKernel, shape: Shape, spec: LaunchSpec) -> str:
    """The sizes of a launch in words: work-items, groups, numbers, and what arguments have."""
    total = " x ".join(map(str, shape.total))
    words = f"{total} work-item{'s' if shape.items != 1 else ''}"
    if shape.group is not None:
        words += f" in groups of {' x '.join(map(str, shape.group))}"
    numbers = [
        f"{name} = {value}" for name, value in spec.values.items() if name in {p.name for p in inferred.kernel.function.params}
    ]
    by_extent: dict[str, list[str]] = {}
    for argument, param in zip(spec.arguments, inferred.kernel.params, strict=True):
        if isinstance(argument, BufferArgument):
            by_extent.setdefault(f"{argument.count} element{'s' if argument.count != 1 else ''}", []).append(param.name)
        elif isinstance(argument, ImageArgument):
            sides = (argument.spec.width, argument.spec.height, argument.spec.depth_or_layers)
            shown = sides if sides[2] > 1 else sides[:2]
            by_extent.setdefault(f"{' x '.join(map(str, shown))} texels", []).append(param.name)
    arguments = [f"{', '.join(names)} of {extent}" for extent, names in by_extent.items()]
    more = ["..."] if len(arguments) > SHOWN else []
    return ", ".join([words, *numbers, *arguments[:SHOWN], *more])
