"""What one launch of a hand-written kernel found."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ..base.allow import Allowed, AllowEntry
from ..device.inspection import AccessProof
from ..findings import Finding, Kind, Severity
from ..records import dataclass
from .readings import ReadingsReport
from .unwatched import level_words
from .verdict.exit_codes import EXIT_FINDINGS, EXIT_OK, WORDS

if TYPE_CHECKING:
    from ..device.counters import LaunchCounters
    from ..device.machine_code import KernelCode
    from .evidence import Evidence
    from .time_report import TimeReport


@dataclass(frozen=True)
class LaunchOutput:
    """One expected output against what the launch left; numbers as in golden.compare.Comparison.

    vacuous: why an agreement says nothing, "" if it does. worst: index into the flat output.
    """

    argument: str
    ok: bool
    vacuous: str
    wrong: int
    elements: int
    max_abs: float
    max_ulp: int
    worst: int


@dataclass(frozen=True)
class Coverage:
    """An argument that held nothing before the launch, and what of it still does: so many elements, and which in words."""

    argument: str
    elements: int
    unwritten: int
    where: str


@dataclass(frozen=True)
class TriedLaunch:
    """One of several launches that were inferred from a kernel's code. values: its numbers by name. assumed: its sizes in words.
    failures: findings that count."""

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    values: dict[str, int]
    assumed: str
    failures: int


@dataclass(frozen=True)
class ComparedArgument:
    """What two devices left in one argument: same: every bit; differ: elements out of tolerance; the rest as of LaunchOutput."""

    argument: str
    elements: int
    same: bool
    differ: int
    max_abs: float
    max_ulp: int
    worst: int


@dataclass
class DeviceComparison:
    """The launch on a second device, given the same inputs. refused: why it did not run there, "" if it did."""

    device: str
    refused: str = ""
    arguments: list[ComparedArgument] = field(default_factory=list)


@dataclass
class LaunchReport:
    """Result of one launch.

    source, launch: the files as the user named them. findings: those that count against the launch; expected: those the
    launch file announces; allowed: those an allow-list accepts; expired: entries that would have, until their day.
    is_test: the launch file says what is to be found, so that every other finding, of any severity, counts.
    missing: what the launch file announces and did not happen. refused: the message of a refusal that was announced.
    unchecked: sentences on what this launch says nothing about. values: [values] of the launch file, as they were. coverage:
    arguments that it did not write whole. compared: with a second device, None if there is none. counters, machine_code: where
    they were asked for. readings: under which readings of OpenCL the launch was run again, None if there was none. unproven:
    accesses that are not proven in range, if that was asked. text: the source. included: the text of other files that findings
    are in. arrays: what the arguments that the kernel may write held afterwards, by name, None if it did not run or nobody asked.
    tried: the launches that were inferred, fewest work-items first, None if a launch file says one; sizes and values are then
    those of the smallest that fails, else of the largest. evidence: what a page shows, None if nobody asked. text, included,
    unproven, arrays and evidence are not part of the JSON.
    """

    kernel: str
    source: str
    launch: str
    variant: str
    device: str
    checks: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    strict: bool = False
    is_test: bool = False
    findings: list[Finding] = field(default_factory=list)
    expected: list[Finding] = field(default_factory=list)
    allowed: list[Allowed] = field(default_factory=list)
    expired: list[AllowEntry] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    outputs: list[LaunchOutput] = field(default_factory=list)
    coverage: list[Coverage] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    refused: str = ""
    printed: str = ""
    seconds: float = 0.0
    values: dict[str, int] = field(default_factory=dict)
    compared: DeviceComparison | None = None
    counters: LaunchCounters | None = None
    machine_code: tuple[KernelCode, ...] | None = None
    time: TimeReport | None = None
    readings: ReadingsReport | None = None
    tried: list[TriedLaunch] | None = None
    text: str = field(default="", repr=False)
    included: dict[str, str] = field(default_factory=dict, repr=False)
    unproven: list[AccessProof] = field(default_factory=list)
    arrays: dict[str, np.ndarray] | None = field(default=None, repr=False)
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    @property
    def counting(self) -> list[Finding]:
        """Findings that make the launch fail. In a test these are all that it does not expect, except for values that say
        nothing, which are not the kernel's fault.
        """
        if self.is_test and not self.strict:
            return [finding for finding in self.findings if finding.kind is not Kind.UNINFORMATIVE]
        if self.is_test:
            return self.findings
        worst = Severity.WARNING if self.strict else Severity.ERROR
        return [finding for finding in self.findings if finding.severity >= worst]

    @property
    def ok(self) -> bool:
        return not self.counting and not self.missing

    @property
    def exit_code(self) -> int:
        """0 ok, 1 findings."""
        return EXIT_OK if self.ok else EXIT_FINDINGS

    @property
    def verdict(self) -> str:
        """One line: ok or findings, and what is behind it. An output whose values say nothing leaves the launch ok in part."""
        word = WORDS[self.exit_code]
        if self.ok and any(output.vacuous for output in self.outputs):
            word += ", in part"
        return f"{word}: {', '.join(self._parts())}"

    def _parts(self) -> list[str]:
        if self.refused:
            return ["refused, as expected"]
        parts = [_count(self.findings, severity) for severity in (Severity.ERROR, Severity.WARNING)]
        parts += [f"{len(self.missing)} expected but not seen"] if self.missing else []
        parts += [f"{len(self.expected)} as expected"] if self.expected else []
        parts += [f"{len(self.allowed)} allowed"] if self.allowed else []
        parts += level_words(self.checks)
        if self.tried is not None:
            return [*parts, self._tried_words()]
        right = sum(output.ok and not output.vacuous for output in self.outputs)
        parts.append(f"{right} of {len(self.outputs)} outputs right" if self.outputs else "no output compared")
        vacuous = sum(output.ok and bool(output.vacuous) for output in self.outputs)
        return [*parts, f"{vacuous} that say{'s' if vacuous == 1 else ''} nothing"] if vacuous else parts

    def _tried_words(self) -> str:
        """How many launches were tried, and how large."""
        items = [math.prod(launch.global_size) for launch in self.tried or ()]
        kernels = len({launch.kernel for launch in self.tried or ()})
        of = f"of {kernels} kernels, " if kernels > 1 else "of "
        least, most = min(items, default=0), max(items, default=0)
        return f"{len(items)} inferred launch{'es' if len(items) != 1 else ''} {of}{least} to {most} work-items"


def _count(findings: list[Finding], severity: Severity) -> str:
    count = sum(finding.severity is severity for finding in findings)
    return f"{count} {severity}{'' if count == 1 else 's'}"
