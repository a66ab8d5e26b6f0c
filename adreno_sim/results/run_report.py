"""What `adreno-sim run` found: the reports of all processes that opened the driver, merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from ..base.allow import Allowed, AllowEntry, apply
from ..findings import Finding, Kind, Severity, place_of, rank
from ..records import dataclass
from .unwatched import find_lowest, find_unwatched, level_words
from .verdict.exit_codes import EXIT_FINDINGS, EXIT_OK, EXIT_UNSUPPORTED, EXIT_USAGE, WORDS

if TYPE_CHECKING:
    from ..device.counters import LaunchCounters
    from .evidence import Evidence
    from .readings import ReadingsReport
    from .time_limits import TimeWish
    from .time_report import TimeReport


@dataclass(frozen=True)
class HostCall:
    """A call of the client: its number in its process (from 1), its thread, its queue (0: no command of a queue); of a launch
    also the kernel's sizes and its arguments in words. where: frames of the program that called, the innermost first.
    """

    number: int
    thread: int
    queue: int
    global_size: tuple[int, ...] = ()
    local_size: tuple[int, ...] = ()
    offset: tuple[int, ...] = ()
    arguments: tuple[str, ...] = ()
    where: tuple[str, ...] = ()

    def __str__(self) -> str:
        sizes = f", global size {_sizes(self.global_size)}" if self.global_size else ""
        sizes += f", local size {_sizes(self.local_size)}" if self.local_size else ""
        sizes += f", offset {_sizes(self.offset)}" if any(self.offset) else ""
        given = f", arguments {', '.join(self.arguments)}" if self.arguments else ""
        if not self.queue:
            return f"at call {self.number}" + (f" of thread {self.thread}" if self.thread else "")
        return f"enqueued by call {self.number} of thread {self.thread}, queue {self.queue}{sizes}{given}"


def _sizes(size: Sequence[int]) -> str:
    return " x ".join(map(str, size))


@dataclass
class KernelCount:
    """How often a kernel was launched, and the seconds that took."""

    launches: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Leak:
    """An object that was never released: its type, and where it was made."""

    type: str
    where: str


@dataclass
class LaunchRow:
    """A launch that was checked, as `adreno-sim replay --list` shows it.

    number: from 1, among all launches of the recording. call: number of the host's call; arguments: in words. seconds: that it
    took here, None if it was refused; predicted: on the device, None if nobody asks or nothing says. findings: how many of
    each kind, at each place and time.
    """

    number: int
    call: int
    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] = ()
    offset: tuple[int, ...] = ()
    arguments: tuple[str, ...] = ()
    seconds: float | None = None
    predicted: float | None = None
    findings: Mapping[str, int] = field(default_factory=dict)


@dataclass
class ProcessReport:
    """One process that opened the driver.

    program: name of its program. device, checks: as it was opened. kernels: by name. sources: of kernels with findings.
    unchecked: sentences on what this says nothing about; unsupported: on what the program asked for and did not get. leaks:
    objects never released. failed: why the driver did not start, or broke off; "" if it did not. opened: it got as far as
    the device. compared_with: name of a real device on which a replay ran each launch too; compared: how many it did. differs:
    what ended otherwise in a replay than it was recorded, in words. checked_launches, left_out: launches that a filter takes, and
    those that it leaves out. launches: one by one, where a replay lists them. time: predicted, where `run` is asked for it.
    """

    program: str
    pid: int
    device: str
    checks: str
    findings: list[Finding] = field(default_factory=list)
    kernels: dict[str, KernelCount] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict, repr=False)
    unchecked: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    leaks: list[Leak] = field(default_factory=list)
    failed: str = ""
    opened: bool = False
    compared_with: str = ""
    compared: int = 0
    differs: list[str] = field(default_factory=list)
    checked_launches: int = 0
    left_out: int = 0
    launches: list[LaunchRow] = field(default_factory=list)
    time: TimeReport | None = None


@dataclass
class RunReport:
    """A command and all its processes.

    status: of the command, 128 + N where signal N ended it. findings: those of all processes that no entry accepts; equal places
    of several processes are one. no_driver: if none did, the known reasons. idle: why a replay says nothing, or not all;
    "" if it does. most: findings that are shown; what is judged are all. counters: by kernel, and times: where they were asked
    for; unjudged: what a limit on time says nothing about. readings: under which readings of OpenCL launches of a replay ran
    again, None if none did. evidence: what a page shows, no part of the JSON.
    """

    command: tuple[str, ...]
    device: str
    checks: str
    status: int
    strict: bool = False
    processes: list[ProcessReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    allowed: list[Allowed] = field(default_factory=list)
    expired: list[AllowEntry] = field(default_factory=list)
    no_driver: str = ""
    idle: str = ""
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    most: int | None = None
    counters: dict[str, LaunchCounters] = field(default_factory=dict)
    time: TimeReport | None = None
    unjudged: list[str] = field(default_factory=list)
    readings: ReadingsReport | None = None

    @property
    def shown(self) -> list[Finding]:
        """The findings that a report shows: all, or the most severe ones."""
        return self.findings if self.most is None else sorted(self.findings, key=rank)[: self.most]

    @property
    def left_out(self) -> int:
        """Launches that a filter left out."""
        return sum(process.left_out for process in self.processes)

    @property
    def opened(self) -> bool:
        """Whether a process opened the device."""
        return any(process.opened for process in self.processes)

    @property
    def sources(self) -> dict[str, str]:
        """Source text of kernels with findings."""
        return {name: text for process in self.processes for name, text in process.sources.items()}

    @property
    def unsupported(self) -> list[str]:
        return list(dict.fromkeys(what for process in self.processes for what in process.unsupported))

    @property
    def unchecked(self) -> list[str]:
        said = [what for process in self.processes for what in process.unchecked]
        filtered = [LEFT_OUT.format(self.left_out)] if self.left_out else []
        return list(dict.fromkeys([*find_unwatched(self.lowest_level), *filtered, *said, *self.unjudged]))

    @property
    def lowest_level(self) -> str:
        """The level of checks: of several processes the one that checks least."""
        return find_lowest([self.checks, *(process.checks for process in self.processes if process.opened)])

    @property
    def counting(self) -> list[Finding]:
        worst = Severity.WARNING if self.strict else Severity.ERROR
        return [finding for finding in self.findings if finding.severity >= worst]

    @property
    def judgement(self) -> int:
        """What is said of the run except for the command's own status: 0 ok, 1 findings, 2 failed or not used, 3 unsupported."""
        if not self.opened:
            return EXIT_USAGE
        if self.counting:
            return EXIT_FINDINGS
        if any(process.failed for process in self.processes):
            return EXIT_USAGE
        if self.unsupported:
            return EXIT_UNSUPPORTED
        return EXIT_USAGE if self.idle or self.differs else EXIT_OK

    @property
    def differs(self) -> list[str]:
        """What ended otherwise in a replay than it was recorded."""
        return [what for process in self.processes for what in process.differs]

    @property
    def exit_code(self) -> int:
        """The command's status where that is not 0, else the judgement."""
        return self.status or self.judgement

    @property
    def ok(self) -> bool:
        return self.exit_code == EXIT_OK

    @property
    def verdict(self) -> str:
        """One line: the word of the judgement, and what is behind it."""
        failures = [process.failed for process in self.processes if process.failed]
        if not self.opened and failures:
            return f"{WORDS[EXIT_USAGE]}: {failures[0]}"
        if not self.opened:
            return f"{WORDS[EXIT_USAGE]}: no process opened the simulated device{self.no_driver and '; ' + self.no_driver}"
        launches = sum(count.launches for process in self.processes for count in process.kernels.values())
        kernels = len({name for process in self.processes for name in process.kernels})
        parts = [_plural(sum(f.severity is severity for f in self.findings), str(severity)) for severity in _SHOWN]
        parts += [f"{len(self.allowed)} allowed"] if self.allowed else []
        parts += level_words(self.lowest_level)
        parts += [f"the driver failed in {_plural(len(failures), 'process')}"] if failures else []
        parts += [f"{len(self.unsupported)} unsupported"] if self.unsupported else []
        parts += [self.idle] if self.idle else []
        parts += [f"{_plural(len(self.differs), 'call')} ended otherwise than recorded"] if self.differs else []
        checked = sum(process.checked_launches for process in self.processes)
        parts.append(
            f"{checked} of {_plural(checked + self.left_out, 'launch')} checked, {_plural(kernels, 'kernel')}"
            if self.left_out
            else f"{_plural(launches, 'launch')} of {_plural(kernels, 'kernel')}"
        )
        parts += [f"{len(self.findings) - len(self.shown)} findings not shown"] if len(self.shown) < len(self.findings) else []
        parts.append(_plural(len(self.processes), "process"))
        for name in dict.fromkeys(process.compared_with for process in self.processes if process.compared_with):
            parts.append(f"{_plural(sum(process.compared for process in self.processes), 'launch')} compared with {name}")
        parts += [f"the command ended with status {self.status}"] if self.status else []
        return f"{WORDS[self.judgement]}: {', '.join(parts)}"


LEFT_OUT = "{} launches that the filter leaves out: they ran, and nothing that they did is reported"
"""What is said of launches that are not checked."""

_SHOWN = (Severity.ERROR, Severity.WARNING)


def _plural(count: int, noun: str) -> str:
    ending = "" if count == 1 else "es" if noun.endswith(("s", "h")) else "s"
    return f"{count} {noun}{ending}"


def make_run_report(
    command: Sequence[str],
    device: str,
    checks: str,
    status: int,
    processes: Sequence[ProcessReport],
    *,
    allow: Sequence[AllowEntry] = (),
    strict: bool = False,
    no_driver: str = "",
    idle: str = "",
    most: int | None = None,
    time: TimeReport | None = None,
    wish: TimeWish | None = None,
) -> RunReport:
    """Merge the reports of processes. Findings of one place count as one, as often as all processes saw it. A run whose launches
    were left out in part has a warning that says so: none of them is right because nobody looked. time, wish: predicted times of
    all processes, and what they are compared with. AdrenoSimError for a baseline that is none."""
    left_out, checked = (sum(getattr(process, name) for process in processes) for name in ("left_out", "checked_launches"))
    of_filter = []
    if left_out:
        sentence = f"{left_out} of {_plural(left_out + checked, 'launch')} were not checked, as a filter leaves them out"
        of_filter = [Finding(Kind.LAUNCHES_LEFT_OUT, sentence)]
        idle = idle or ("" if checked else f"none of {_plural(left_out, 'launch')} was checked")
    of_times, unjudged = _judge_times(time, wish)
    judged = apply(allow, [*_merge(processes), *of_filter, *of_times])
    return RunReport(
        tuple(command),
        device,
        checks,
        status,
        strict,
        list(processes),
        judged.kept,
        judged.allowed,
        judged.expired,
        no_driver,
        idle,
        most=most,
        time=time,
        unjudged=unjudged,
    )


def _judge_times(time: TimeReport | None, wish: TimeWish | None) -> tuple[list[Finding], list[str]]:
    """What is wrong with predicted times, and what nothing is said about."""
    if time is None:
        return [], []
    from .time_limits import NO_WISH, find_beyond, find_unjudged  # NumPy, which no other run needs

    wish = wish or NO_WISH
    return find_beyond(time, wish), find_unjudged(time, wish)


def _merge(processes: Sequence[ProcessReport]) -> list[Finding]:
    merged: dict[tuple[object, ...], Finding] = {}
    for finding in (found for process in processes for found in process.findings):
        place = place_of(finding)
        first = merged.get(place)
        merged[place] = finding if first is None else replace(first, count=first.count + finding.count)
    return list(merged.values())


def with_host_call(finding: Finding, call: HostCall) -> Finding:
    """The finding with the call that enqueued it."""
    return replace(finding, detail={**finding.detail, "host_call": {key: value for key, value in vars(call).items() if value}})


def host_call_of(finding: Finding) -> HostCall | None:
    """The call that enqueued what was found, if a finding has one."""
    data = finding.detail.get("host_call")
    if not isinstance(data, Mapping):
        return None
    known: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    return HostCall(known.pop("number", 0), known.pop("thread", 0), known.pop("queue", 0), **known)


def maker_of(finding: Finding) -> tuple[str, tuple[str, ...]] | None:
    """Which call made the memory that a finding is about, in words, and from which frames of the program; None if it says
    nothing of that."""
    made = finding.detail.get("made")
    if not isinstance(made, Mapping):
        return None
    return f"{made['argument']} is memory {made['memory']}, made by call {made['call']}", tuple(map(str, made.get("where", ())))
