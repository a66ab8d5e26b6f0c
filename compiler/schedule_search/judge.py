"""What makes a candidate acceptable: it compiles, keeps the device's limits, touches no memory that is not its own, computes
what its function before scheduling does on TVM's llvm target. It is timed, or ranked by the predicted time of its launches."""

from __future__ import annotations

import os
import statistics
from functools import cached_property
from typing import Any

import numpy as np

from ...base.errors import AdrenoSimError, DeviceError, UnsupportedError
from ...base.progress import Progress
from ...base.rejected_call import rejected_call
from ...device.protocol import Device, LaunchResult
from ...findings import Finding, Kind, Severity
from ...golden.expectations import KernelExpectations
from ...golden.truth.units import Units
from ...records import dataclass
from ...results.comparison import compare
from ...results.expected import Expected
from ...timing.launches import LaunchTimer
from ..artifact.model import CompiledModel
from ..check.golden import LiveGolden
from ..check.judging.judges import Judges
from ..check.judging.observer import FirstWrong, KernelObserver
from ..check.wide_precision_rerun import WidePrecisionRerun
from ..lower.pipeline import PipelineName
from ..run.observer import LaunchCall, Observer, Observers
from ..run.vm import VirtualMachine
from ..schedule_database.anchor import find_anchor
from ..schedule_database.cancel import staged_params
from ..schedule_database.tasks import Task, params_of
from ..tvm_bridge.read import BufferInfo
from ..tvm_bridge.versions import import_tvm
from .candidate import TASK, Candidate, compile_function
from .candidate_registers import CandidateRegisters
from .candidate_times import CandidateTimes
from .limits import broken_limits

REPEATS = 5
"""Timed runs of a candidate on a real device, after one that is not."""


@dataclass(frozen=True)
class Rejection:
    """Why a candidate is none. stage: "compile", "limits", "run" or "values"; findings: what was found, if anything ran."""

    stage: str
    reason: str
    findings: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        return f"{self.stage}: {self.reason}"


@dataclass(frozen=True)
class Verdict:
    """An accepted candidate. time: predicted (`CandidateTimes.time`). seconds: of a run on the device, copies that the model
    does not need left out; None if none was timed. max_error: the largest error, relative to the rms of the result.
    register_use: as of `CandidateRegisters`, where it was asked for."""

    time: dict[str, float]
    seconds: float | None
    max_error: float
    register_use: dict[str, Any] | None = None


@dataclass
class Judge:
    """Judges the candidates of one task. checker: a simulated device, on which every candidate is run with its accesses
    checked and its launches counted. timer: a real device, on which the right ones are compared and timed too; None = predicted
    times rank them.

    registers: examine what the kernels of each candidate take. rejections, verdicts: by artifact, or by what `build` was given
    where there is none.
    """

    task: Task
    checker: Device
    timer: Device | None = None
    pipeline: PipelineName = "fixed"
    without_fix: tuple[str, ...] = ()
    seed: int = 0
    registers: bool = False

    def __post_init__(self) -> None:
        tvm = import_tvm()
        LaunchTimer(self.checker)  # which refuses a device without times
        self.reference = KernelExpectations(tvm.IRModule({TASK: self.task.module["main"]}), Units.of_device(self.checker.info))
        self.terms = _terms(self.task)
        self.inputs = _inputs(self.task, self.terms, self.seed)

    def build(self, schedule: Any, path: str | os.PathLike[str]) -> Candidate | Rejection:
        """Compile a candidate and save it at `path`, unless the checker's device could not take it."""
        built = self.compile(schedule.mod["main"])
        if isinstance(built, Rejection):
            return built
        built.compiled.save(path)
        return built

    def compile(self, function: Any, scheduled: bool = True) -> Candidate | Rejection:
        """Compile a candidate, or with `scheduled` False the task as the pipeline's own rules schedule it."""
        info = self.checker.info
        try:
            built = compile_function(
                function, scheduled=scheduled, pipeline=self.pipeline, without_fix=self.without_fix, limits=info.limits,
            )  # fmt: skip
        except AdrenoSimError as error:
            return Rejection("compile", str(error).splitlines()[0])
        broken = broken_limits(built.host, built.launches, info.limits, info.name)
        if not broken and self.timer is not None:
            other = self.timer.info
            broken = broken_limits(built.host, built.launches, other.limits, other.name)
        return Rejection("limits", _finding_lines(broken), tuple(broken)) if broken else built

    def needless(self, schedule: Any) -> frozenset[int]:
        """Launches that only copy an argument into a texture, which is one already wherever the model calls this task."""
        stages = staged_params(schedule, params_of(schedule.mod["main"]))
        return frozenset(number for number, param in stages.items() if param in self.task.textures | self.task.weights)

    def run(self, model: CompiledModel, copies: frozenset[int] = frozenset()) -> Verdict | Rejection:
        """Run a compiled candidate: on the checker, then on the timer if there is one. Launches in `copies` cost nothing."""
        times = CandidateTimes(LaunchTimer(self.checker), copies, self.task.textures)
        registers = CandidateRegisters(self.checker, copies) if self.registers else None
        output, rejection = self._check(model, [times] if registers is None else [times, registers])
        if rejection is not None:
            return rejection
        assert output is not None
        seconds = None
        if self.timer is not None:
            timed = self._time(model, copies)
            if isinstance(timed, Rejection):
                return timed
            seconds = timed
        error = float(compare(output, self.golden).max_abs / _rms(self.golden.array))
        return Verdict(times.time, seconds, error, None if registers is None else registers.register_use)

    def _check(self, model: CompiledModel, watching: list[Observer]) -> tuple[np.ndarray | None, Rejection | None]:
        judges = Judges(LiveGolden(self.reference), rerun=WidePrecisionRerun(model, self.reference))
        observer = KernelObserver(model, judges, keep_going=False, progress=Progress())
        output: np.ndarray | None = None
        stopped: Rejection | None = None
        try:
            with VirtualMachine(model, self.checker, Observers(*watching, observer)) as machine:
                output = machine.run(self.inputs)[0]
        except FirstWrong:
            pass
        except DeviceError as error:
            found = rejected_call(error)
            stopped = Rejection("run", found.message, (found,))
        except AdrenoSimError as error:
            stopped = Rejection("run", str(error).splitlines()[0])
        rows = observer.finish()
        errors = tuple(f for f in observer.found.findings.as_list() if f.severity is Severity.ERROR)
        if errors:
            values = all(finding.kind is Kind.WRONG_VALUE for finding in errors)
            return None, Rejection("values" if values else "run", _finding_lines(errors), errors)
        if stopped is None and not any(row.compared > row.vacuous for row in rows):
            stopped = Rejection("values", "its result says nothing: nothing was compared, or what was is constant")
        return output, stopped

    def _time(self, model: CompiledModel, copies: frozenset[int]) -> float | Rejection:
        """Median seconds of the launches that count."""
        assert self.timer is not None
        clock = _Clock(copies)
        try:
            with VirtualMachine(model, self.timer, clock) as machine:
                runs = []
                for _ in range(1 + REPEATS):
                    clock.start()
                    (output,) = machine.run(self.inputs)
                    runs.append(clock.seconds)
        except AdrenoSimError as error:
            return Rejection("run", f"on {self.timer.info.name}: {str(error).splitlines()[0]}")
        found = compare(output, self.golden)
        if not found.ok:
            return Rejection("values", f"on {self.timer.info.name}: {found}")
        if clock.untimed:
            raise UnsupportedError(f"unsupported: {self.timer.info.name} times no launches (no profiling events)")
        return float(statistics.median(runs[1:]))

    @cached_property
    def golden(self) -> Expected:
        """The result that every candidate should give, of the same inputs."""
        result = self.task.params[-1]
        found = self.reference.expect(TASK, [*self.inputs, np.zeros([int(size) for size in result.shape], result.dtype)])[-1]
        assert found is not None
        return found


class _Clock(Observer):
    """Adds up the device time of launches, those in `copies` left out. untimed: one had no time."""

    def __init__(self, copies: frozenset[int]):
        self._copies = copies
        self.start()
        self.untimed = False

    def start(self) -> None:
        self.seconds = 0.0
        self._number = 0

    def after_launch(self, launch: LaunchCall, result: LaunchResult) -> None:
        self.untimed |= result.device_seconds is None
        if self._number not in self._copies:
            self.seconds += result.device_seconds or 0.0
        self._number += 1


def _finding_lines(findings: Any) -> str:
    first, *more = findings
    loc = f"{first.kernel}:{first.line}: " if first.line else f"{first.kernel}: " if first.kernel else ""
    return f"{first.kind.label}: {loc}{first.message}" + (f" ({len(more)} more)" if more else "")


def _terms(task: Task) -> int:
    """Terms of one sum."""
    anchor = find_anchor(import_tvm().s_tir.Schedule(task.module))
    assert anchor is not None
    return int(np.prod([anchor.extents[number] for number in anchor.reduced]))


def _inputs(task: Task, terms: int, seed: int) -> list[np.ndarray]:
    """Normal values, so scaled that a sum of products is about 1; small whole numbers for integer types."""
    rng = np.random.default_rng(seed)
    return [_draw(rng, info, terms) for info in task.params[:-1]]


def _draw(rng: np.random.Generator, info: BufferInfo, terms: int) -> np.ndarray:
    shape = [int(size) for size in info.shape]
    if np.dtype(info.dtype).kind == "f":
        return (rng.standard_normal(shape) * terms**-0.25).astype(info.dtype)
    return rng.integers(0 if np.dtype(info.dtype).kind == "u" else -4, 5, shape).astype(info.dtype)


def _rms(golden: np.ndarray) -> float:
    return max(float(np.sqrt(np.mean(golden.astype(np.float64) ** 2))), float(np.finfo(np.float64).tiny))
