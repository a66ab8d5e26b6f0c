"""The report of a check: kernels, model outputs, findings, the memory plan, and what was not checked."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from ..base.allow import Allowed, AllowEntry
from ..device.counters import LaunchCounters
from ..device.inspection import AccessProof
from ..device.machine_code import KernelCode
from ..device.protocol import AccessCounts
from ..findings import Finding, Severity
from ..records import dataclass
from .evidence import Evidence
from .unwatched import level_words
from .verdict.exit_codes import EXIT_FINDINGS, EXIT_OK, WORDS

if TYPE_CHECKING:
    from .plan_summary import PlanSummary
    from .readings import ReadingsReport
    from .time_report import TimeReport

Status = Literal["ok", "wrong", "vacuous", "part", "unchecked"]


@dataclass
class PeerReport:
    """Results of a kernel compared with a second device's: how many, how many equal in every bit, how many out of tolerance."""

    compared: int = 0
    equal: int = 0
    differ: int = 0
    max_ulp: int = 0


@dataclass
class AccessReport:
    """A kernel's accesses to memory at level bounds: the fewest places proven in range of all launches, of how many.

    executed, executed_proven: how often they ran over all launches; None if that was not counted.
    """

    places: int
    proven_places: int
    executed: int | None = None
    executed_proven: int | None = None

    def add(self, counts: AccessCounts) -> None:
        """One more launch."""
        self.proven_places = min(self.proven_places, counts.proven_places)
        if counts.executed is not None and counts.executed_proven is not None:
            self.executed = (self.executed or 0) + counts.executed
            self.executed_proven = (self.executed_proven or 0) + counts.executed_proven


@dataclass
class KernelReport:
    """One kernel over all its launches.

    seconds: wall time of the launches (first use included); device_seconds where the device times them.
    accesses: where the device checks them.
    compared: comparisons with golden; wrong counts failed ones, vacuous uninformative ones (the name of the JSON key).
    max_abs, max_ulp: largest over the comparisons; worst_index into the logical result, of the largest error relative
    to its tolerance. part_of: the function through whose result a kernel that writes only workspaces is judged.
    peer: where the run was compared with a second device. counters: where they were asked for.
    """

    name: str
    function: str
    launches: int = 0
    seconds: float = 0.0
    device_seconds: float | None = None
    accesses: AccessReport | None = None
    compared: int = 0
    wrong: int = 0
    vacuous: int = 0
    max_abs: float = 0.0
    max_ulp: int = 0
    worst_index: tuple[int, ...] = ()
    errors: int = 0
    warnings: int = 0
    part_of: str = ""
    peer: PeerReport | None = None
    counters: LaunchCounters | None = None

    @property
    def status(self) -> Status:
        if self.wrong:
            return "wrong"
        if self.compared > self.vacuous:
            return "ok"
        if self.compared:
            return "vacuous"
        return "part" if self.part_of else "unchecked"


@dataclass(frozen=True)
class SubgraphReport:
    """A subgraph for OpenCL ML: its operators, and the copies and tensor memory of its last run.

    interface: version. copies_in, copies_out, copied_bytes: between its own tensors and the program's buffers, on the device;
    bound: tensors that are the program's buffers themselves. on_chip: bytes of tensors in on-chip memory, on_chip_peak at once,
    of on_chip_size; rejected: bytes between operators that did not fit; buffers: bytes of device memory for the others.
    placed: tensors of it that the model's memory plan has; the figures of memory are then 0. tuned: a message on the tuning
    cache, "" without one.
    """

    name: str
    operators: tuple[str, ...]
    flops: int
    reason: str
    interface: int
    copies_in: int
    copies_out: int
    copied_bytes: int
    bound: int
    on_chip: int
    on_chip_peak: int
    on_chip_size: int
    rejected: int
    buffers: int
    tuned: str = ""
    placed: int = 0


@dataclass(frozen=True)
class FallbackReport:
    """Operators that stayed with TVM's kernels, and why. name: of the subgraph they would have been, "" for none."""

    name: str
    operators: tuple[str, ...]
    flops: int
    reason: str


@dataclass(frozen=True)
class OutputReport:
    """One output of the whole model against one reference ("TVM llvm", "ONNX Runtime")."""

    output: str
    reference: str
    ok: bool
    vacuous: str
    max_abs: float
    max_ulp: int
    worst_index: tuple[int, ...]
    rms: float


@dataclass(frozen=True)
class InputReport:
    """An input the model ran with: where it came from ("seed 0", a file) and its rms."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    source: str
    rms: float


@dataclass
class BufferTensor:
    """A tensor of a texture target that is in a buffer: its name, the call that makes it, and why it is not a texture."""

    name: str
    producer: str
    shape: tuple[str, ...]
    dtype: str
    why: str


@dataclass
class ScopeSummary:
    """Results of calls before fusion: how many are textures, and those that are not. rule: who wins where consumers disagree;
    weights: where weights of packed convolutions were asked to lie."""

    textures: int
    buffers: list[BufferTensor] = field(default_factory=list)
    rule: str = "tvm"
    weights: str = "buffer"


@dataclass
class Report:
    """Result of a check. `ok`: no error (no warning either where `strict`) was found in what was checked.

    kernels_in_model counts those compiled, `kernels` has those launched.
    subgraphs, kept: with target clml, what ran as OpenCL ML and what did not.
    digests: SHA-256 of each output's bytes, by name.
    unchecked: sentences, each naming something that this check says nothing about. timings: seconds by stage, in order.
    plan: None if input shapes are symbolic or the run failed before. planner: the one asked for, "" for the plan as
    compiled. plan_causes: the plan's bytes by what they are spent on (see compiler.plan.audit).
    compared_with: name of a second device that every call ran on, "" if there was none.
    allowed: findings that an allow-list accepts, with its entries; expired: entries that would have, until their day.
    reproduction: the folder a failing launch was written to and why, "" if none was. sources: of kernels with findings.
    unproven: accesses that some launch does not prove in range, by kernel, if that was asked; no part of the JSON.
    machine_code: of each kernel, where it was asked for.
    tuned: functions of a tuning folder, with the schedule each got. scopes: None for a bundle, and for targets without textures.
    stopped: the error that ended the run early, "" if none did; stopped_code: the exit code it asks for.
    outputs_in_model: outputs that references were to judge; 0 where nothing was to be compared with them. time: predicted, where
    that was asked for. readings: under which readings of OpenCL launches ran again, None if none did. evidence: what a page
    shows; no part of the JSON.
    """

    model: str
    target: str
    pipeline: str
    fixes: tuple[str, ...]
    device: str
    checks: str
    seed: int
    tvm_version: str
    kernels_in_model: int = 0
    strict: bool = False
    inputs: list[InputReport] = field(default_factory=list)
    kernels: list[KernelReport] = field(default_factory=list)
    subgraphs: list[SubgraphReport] = field(default_factory=list)
    kept: list[FallbackReport] = field(default_factory=list)
    outputs: list[OutputReport] = field(default_factory=list)
    machine_code: tuple[KernelCode, ...] | None = None
    digests: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    plan: PlanSummary | None = None
    planner: str = ""
    plan_causes: dict[str, int] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    allowed: list[Allowed] = field(default_factory=list)
    expired: list[AllowEntry] = field(default_factory=list)
    reproduction: str = ""
    sources: dict[str, str] = field(default_factory=dict, repr=False)
    unproven: dict[str, list[AccessProof]] = field(default_factory=dict, repr=False)
    compared_with: str = ""
    tuned: dict[str, str] = field(default_factory=dict)
    scopes: ScopeSummary | None = None
    stopped: str = ""
    stopped_code: int = EXIT_OK
    outputs_in_model: int = 0
    time: TimeReport | None = None
    readings: ReadingsReport | None = None
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    def count(self, severity: Severity) -> int:
        """Distinct findings of exactly this severity."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def ok(self) -> bool:
        worst = Severity.WARNING if self.strict else Severity.ERROR
        return not self.stopped and all(finding.severity < worst for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """0 ok, 1 findings, 2 a failed run, 3 unsupported; findings outrank the others."""
        worst = Severity.WARNING if self.strict else Severity.ERROR
        if any(finding.severity >= worst for finding in self.findings):
            return EXIT_FINDINGS
        return self.stopped_code

    @property
    def verdict(self) -> str:
        """One line: "ok", "ok, in part" (not all was judged), "findings", "failed" or "unsupported", and what is behind it."""
        word = WORDS[self.exit_code]
        wanted = max(self.outputs_in_model, len({output.output for output in self.outputs}))
        partly = self.exit_code == EXIT_OK and (self.checked < self.kernels_in_model or len(self.judged_outputs) < wanted)
        return f"{word}{', in part' if partly else ''}: {self._summary()}"

    @property
    def checked(self) -> int:
        """Kernels whose values were judged."""
        return sum(kernel.status in ("ok", "wrong", "part") for kernel in self.kernels)

    @property
    def judged_outputs(self) -> set[str]:
        """The outputs that some reference judged."""
        return {output.output for output in self.outputs if not output.vacuous}

    def _summary(self) -> str:
        parts = [f"{self.checked} of {self.kernels_in_model} kernels checked"]
        for severity in (Severity.ERROR, Severity.WARNING):
            count = self.count(severity)
            parts.append(f"{count} {severity}{'' if count == 1 else 's'}")
        parts += [f"{len(self.allowed)} allowed"] if self.allowed else []
        parts += level_words(self.checks)
        if self.outputs_in_model and not self.outputs:
            parts.append("no output compared")
        for reference in dict.fromkeys(output.reference for output in self.outputs):
            parts.append(f"{reference} {self._agreement(reference)}")
        if self.stopped:
            parts.append(self.stopped.splitlines()[0])  # a compiler's messages have more
        return ", ".join(parts)

    def _agreement(self, reference: str) -> str:
        outputs = [output for output in self.outputs if output.reference == reference]
        if not all(output.ok for output in outputs):
            return "differs"
        return "says nothing" if all(output.vacuous for output in outputs) else "agrees"

    @property
    def first_wrong(self) -> Finding | None:
        """The finding of the first value that was wrong, or None."""
        return next((finding for finding in self.findings if finding.kind.label == "wrong-value"), None)

    def __str__(self) -> str:
        from .plain_text import plain

        return plain(self)
