"""The observer that times every launch, collects its findings, and compares each host-function call with golden."""

from __future__ import annotations

from collections.abc import Container, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ....base.processes.interrupts import raise_if_interrupted
from ....base.progress import Progress
from ....device.protocol import LaunchResult
from ....findings import Finding, Kind
from ....golden.background import begin
from ....memory.spilled import drop_resident_pages
from ....records import dataclass
from ....results.expected import Expected
from ....results.model import KernelReport
from ...artifact.model import CompiledModel
from ...run.observer import FunctionCall, GraphCall, LaunchCall, Observer
from ...run.values import Tensor
from ..distinguishing_inputs import arguments_with
from .call_judge import CallJudge
from .counter import LaunchCounter
from .judges import Found, Judges
from .reporter import ResultReporter
from .rows import KernelRows
from .timer import RunTimer

if TYPE_CHECKING:
    from ....mlops.engine import GraphRun

MOST_BESIDE = 64 << 20
"""Bytes of a call's arguments up to which what it should compute is found while it runs: both need memory."""


class FirstWrong(Exception):
    """Ends a run at the first wrong value."""


@dataclass(frozen=True)
class _Running:
    """A call that runs. before: its tensor arguments before it, None for others. known: golden says what it makes of them.
    begun: which a thread finds out."""

    before: list[np.ndarray | None]
    known: bool
    begun: Future[list[Expected | None]] | None


class KernelObserver(Observer):
    """Judges every kernel of one run.

    A call's tensor arguments are read before it, golden says what it makes of those, and `CallJudge` compares. The copies live
    for one call. With `keep_going` a wrong value does not end the run; the calls after it are judged on the inputs they were
    really given, or on golden ones where golden supposes these.
    refused: kernels that cannot run; with `keep_going`, golden results replace those of the functions that launch them
    (`replaced`). explains: accesses that are not proven in range are kept (`counter.unproven`).
    """

    def __init__(
        self,
        model: CompiledModel,
        judges: Judges,
        *,
        keep_going: bool,
        progress: Progress,
        refused: Container[str] = (),
        explains: bool = False,
        found: Found | None = None,
    ):
        self.found = found or Found()
        self.rows, self.timer = KernelRows(model), RunTimer()
        self.counter = LaunchCounter(self.rows, explains)
        self.reporter = ResultReporter(model, judges, self.rows, self.found)
        self.judge = CallJudge(model, judges, self.reporter, self.found)
        self.replaced: set[str] = set()
        self._judges, self._keep_going, self._progress, self._refused = judges, keep_going, progress, refused
        self._running: _Running | None = None

    def before_function(self, call: FunctionCall) -> None:
        raise_if_interrupted()
        self._progress.step(call.function.name)
        self._running = None
        golden = self._judges.golden
        known = golden is not None and golden.knows(call)
        if known or self._judges.second_device is not None:
            with self.timer.measure("compare"):
                before = [arg.read() if isinstance(arg, Tensor) else None for arg in call.args]
            self._running = _Running(before, known, self._begin_golden(call, before) if known else None)

    def _begin_golden(self, call: FunctionCall, before: list[np.ndarray | None]) -> Future[list[Expected | None]] | None:
        """Have a thread find what the call should compute while the device runs it, unless both would need much memory."""
        golden = self._judges.golden
        if golden is None or not golden.needs_no_tvm(call):
            return None
        if sum(array.nbytes for array in before if array is not None) > MOST_BESIDE:
            return None
        return begin(golden.results, call, arguments_with(call, before))

    def before_launch(self, launch: LaunchCall) -> None:
        self.reporter.kernels[launch.code.name] = launch.kernel
        self.timer.begin_launch()

    def after_launch(self, launch: LaunchCall, result: LaunchResult) -> None:
        self.counter.add_launch(launch, result, self.timer.end_launch(result.device_seconds))
        self.found.unchecked.update(dict.fromkeys(result.failures))
        self.found.findings.add(_with_kernel(finding, launch) for finding in result.findings)

    def after_graph(self, graph: GraphCall, run: GraphRun) -> None:
        self.timer.seconds["device"] += run.seconds
        self.counter.add_graph(graph, run)
        self.reporter.graphs[graph.graph] = (graph.program, run)

    def storage_reused(self, tensor: str, live: list[str], where: str) -> None:
        message = f"{tensor} is made over bytes of {', '.join(live)}, which {'live' if len(live) > 1 else 'lives'} ({where})"
        self.found.findings.add([Finding(Kind.STORAGE_REUSED_LIVE, message, tensor=tensor)])

    def state_finding(self, finding: Finding) -> None:
        self.found.findings.add([finding])

    def after_function(self, call: FunctionCall) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        before, second = running.before, self._judges.second_device
        golden = self._results(call, running) if running.known else None
        with self.timer.measure("compare"):
            if second is not None:
                self.found.findings.add(second.compare(call, before, golden, lambda place: self.rows.of_result(call, place)))
            wrong = golden is not None and not self.judge.judge(call, before, golden)
            if golden is not None and self._judges.golden is not None and self._judges.golden.forces:
                _write(call, golden)
        drop_resident_pages()
        if wrong and not self._keep_going:
            raise FirstWrong(f"call {call.index} ({call.function.name})")

    def replaces_call(self, call: FunctionCall) -> bool:
        """For a function with a refused kernel: its results are those of golden, and not compared."""
        launched, running = [launch.kernel for launch in call.function.launches()], self._running
        if not self._keep_going or running is None or not running.known or not any(name in self._refused for name in launched):
            return False
        _write(call, self._results(call, running))
        self.replaced.update(launched)
        self._running = None
        return True

    def finish(self) -> list[KernelReport]:
        """The rows of the kernels, as of `KernelRows.finish`."""
        return self.rows.finish(self.found.findings.as_list())

    def _results(self, call: FunctionCall, running: _Running) -> list[Expected | None]:
        golden = self._judges.golden
        assert golden is not None
        with self.timer.measure("golden"):
            if running.begun is not None:
                return running.begun.result()
            return golden.results(call, arguments_with(call, running.before))


def _write(call: FunctionCall, results: Sequence[Expected | None]) -> None:
    """Give the call's tensors these contents, None = leave it."""
    for arg, expected in zip(call.args, results, strict=True):
        if isinstance(arg, Tensor) and expected is not None:
            arg.write(expected.array)


def _with_kernel(finding: Finding, launch: LaunchCall) -> Finding:
    """`finding` with its kernel, and with the host's name for a view that the kernel calls by its own."""
    if finding.kernel:
        return finding
    return replace(finding, kernel=launch.code.name)
