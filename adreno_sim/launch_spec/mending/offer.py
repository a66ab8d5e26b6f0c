"""Patches on offer: an edit that a finding suggests, with which the same launch runs without errors and warnings."""

from __future__ import annotations

import difflib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from ...base.errors import AdrenoSimError
from ...findings import Finding, Kind, Severity
from ...records import dataclass
from ...results.launch_report import LaunchReport
from .memory import clamp_samplers, mend_alignment, mend_bounds, mend_image
from .order import mend_divergence, mend_race
from .source import Source
from .values import mend_conversion, mend_format, mend_printed, mend_unset

MOST_RUNS = 12
"""Launches that are run to find a patch."""
MOST_STEPS = 3
"""The most findings, of different causes, that one patch may fix together."""

Rerun = Callable[[str], LaunchReport]
"""Builds a text and runs the same launch with it. It raises AdrenoSimError if that is not possible."""


@dataclass
class _Trials:
    """text: what ran first. rerun: counted, and refused beyond MOST_RUNS."""

    text: str
    rerun: Rerun
    left: int = MOST_RUNS

    @cached_property
    def before(self) -> Mapping[str, np.ndarray] | None:
        """What the first run left, by argument."""
        report = self.run(self.text)
        return None if report is None else report.arrays

    def run(self, text: str) -> LaunchReport | None:
        """The report of a text; None if it does not compile, is refused, or nothing may be tried any more."""
        if not self.left:
            return None
        self.left -= 1
        try:
            return self.rerun(text)
        except AdrenoSimError:
            return None

    def keeps_values(self, report: LaunchReport) -> bool:
        """Whether a run left in every argument what the first run left: all that may differ is what was written outside."""
        before, after = self.before, report.arrays
        if before is None or after is None:
            return False
        return all(name in after and array.tobytes() == after[name].tobytes() for name, array in before.items())


def offer_patch(report: LaunchReport, rerun: Rerun, sizes: Mapping[str, int]) -> list[Finding]:
    """Returns the findings of a report; the first one that can be fixed has the patch that makes the launch run clean.

    sizes: integers that are arguments of the kernel, by name. Nothing is offered where the launch has outputs that would then be
    wrong.
    """
    trials = _Trials(report.text, rerun)
    mended, patched, now = None, report.text, report
    for _ in range(MOST_STEPS):
        step = _find_step(now, patched, trials, sizes)
        if step is None:
            return report.findings
        finding, patched, now = step
        mended = mended or finding
        if not _worth(now.findings):
            break
    if mended is None or _worth(now.findings) or not all(output.ok for output in now.outputs):
        return report.findings
    patch = unified_diff(report.text, patched, report.source)
    return [replace(one, patch=patch) if one == mended else one for one in report.findings]


def _find_step(
    report: LaunchReport, text: str, trials: _Trials, sizes: Mapping[str, int]
) -> tuple[Finding, str, LaunchReport] | None:
    """The first edit with which fewer findings are left, and none that is new."""
    source, left, items = Source(text), _worth(report.findings), math.prod(report.global_size)
    for finding in report.findings:
        if finding.file != report.source or finding.severity is Severity.NOTE:
            continue
        for candidate in dict.fromkeys(_candidates(source, finding, sizes, items)):
            after = trials.run(candidate)
            if after is None or not _worth(after.findings) < left:
                continue
            if finding.kind is Kind.OUT_OF_BOUNDS_WRITE and not trials.keeps_values(after):
                continue
            return finding, candidate, after
    return None


def has_findings(findings: list[Finding]) -> bool:
    """Whether there is an error or a warning."""
    return bool(_worth(findings))


_NOT_ASKED = frozenset({
    Kind.DRIVER_ERRATUM, Kind.GROUP_MAY_BE_REFUSED, Kind.DEVICES_DIFFER, Kind.DEPENDS_ON_READING, Kind.TOO_SLOW, Kind.SLOWER,
    Kind.SLOW_BUILTIN,
})  # fmt: skip
"""Kinds that only further options of a launch look for; the runs for a patch do not use these options."""


def _worth(findings: list[Finding]) -> Counter[Kind]:
    """Errors and warnings by kind; fewer are worth less."""
    worse = (finding.kind for finding in findings if finding.severity is not Severity.NOTE)
    return Counter(kind for kind in worse if kind not in _NOT_ASKED)


def _candidates(source: Source, finding: Finding, sizes: Mapping[str, int], items: int) -> Iterator[str]:
    """Texts with an edit for a finding. items: work-items of the launch. Where most of them are outside, a test of the index
    would hide another mistake, and is none."""
    kind, is_rare = finding.kind, 2 * finding.count <= items
    if kind is Kind.DATA_RACE:
        return mend_race(source, finding)
    if kind is Kind.DIVERGENT_BARRIER:
        return mend_divergence(source, finding)
    if kind in (Kind.OUT_OF_BOUNDS_READ, Kind.OUT_OF_BOUNDS_WRITE, Kind.SUB_OBJECT_OVERRUN):
        return mend_bounds(source, finding, sizes if is_rare else {})
    turned = finding.access is not None and finding.access.is_turned
    if kind is Kind.IMAGE_WRITE_OUT_OF_RANGE and not (is_rare or turned):
        return iter(())
    if kind is Kind.UNDEFINED_SAMPLER:
        both = (clamp_samplers(source, f"CLK_ADDRESS_{setting}") for setting in ("REPEAT", "MIRRORED_REPEAT"))
        return itertools.chain.from_iterable(both)
    mend = _BY_KIND.get(kind)
    return iter(()) if mend is None else mend(source, finding)


_BY_KIND: Mapping[Kind, Callable[[Source, Finding], Iterator[str]]] = {
    Kind.MISALIGNED_ACCESS: mend_alignment,
    Kind.IMAGE_READ_OUT_OF_RANGE: mend_image,
    Kind.IMAGE_WRITE_OUT_OF_RANGE: mend_image,
    Kind.UNINITIALIZED_READ: mend_unset,
    Kind.UNDEFINED_CONVERSION: mend_conversion,
    Kind.FORMAT_MISMATCH: mend_format,
    Kind.PRINTED_SIZE: mend_printed,
}


def unified_diff(before: str, after: str, file: str) -> str:
    """What `patch -p0` takes, with three lines of context."""
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), file, file)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
