"""The observer that times every launch, collects its findings, and compares each host-function call with golden."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...base.processes.interrupts import raise_if_interrupted
from ...base.progress import Progress
from ...device.protocol import Kernel, LaunchResult, MLProgram
from ...findings import Finding, Kind, Severity
from ...golden.background import begin
from ...memory.spilled import drop_resident_pages
from ...mlops.engine import GraphRun
from ...results.comparison import Comparison
from ...results.evidence import Evidence
from ...results.expected import Expected
from ...results.merge import FindingList
from ...results.model import AccessReport, KernelReport
from ...results.nonfinite import find_birth
from ...results.untouched import compare_touched, find_untouched
from ..artifact.host_function import BufferRef, HostFunction
from ..artifact.model import CompiledModel
from ..run.observer import FunctionCall, GraphCall, LaunchCall, Observer
from ..run.values import Tensor
from .distinguishing_inputs import DistinguishingInputs, OtherRun, arguments_with
from .golden import Golden, is_result
from .integer_inputs import IntegerInputs
from .replay import replay
from .rounding_verdict import RoundingVerdict, tell_rounding_from_defect
from .second_device import SecondDevice
from .unproven import UnprovenAccesses
from .wide_precision_rerun import WidePrecisionRerun

if TYPE_CHECKING:
    from ...golden.kernel_reference import Argument


MOST_BESIDE = 64 << 20
"""Bytes of a call's arguments up to which what it should compute is found while it runs: both need memory."""


class FirstWrong(Exception):
    """Ends a run at the first wrong value."""


class KernelObserver(Observer):
    """Judges every kernel of one run.

    A call's tensor arguments are read before it, golden says what it makes of those, and every argument that a kernel may
    write or golden changed is compared. The copies live for one call. With `keep_going` a wrong value does not end the run;
    the calls after it are judged on the inputs they were really given, or on golden ones where golden supposes these.
    wrong_stage: finds which stage changed a function's meaning, for the first that is wrong on the run's own inputs.
    on_wrong: called for each wrong result with the call, the argument's position, the golden array and the finding.
    seconds: by stage, of what happens around launches. unchecked: sentences, each once, in order: an analysis of a kernel failed,
    a call did not run on inputs that can tell.
    refused: kernels that cannot run; with `keep_going`, golden results replace those of the functions that launch them.
    sorted_places: what functions gave for which `gives_places` says that their last result is where sorted values come from.
    second_device: another device whose results are compared. rerun: runs kernels once more in wider types. integer_inputs: runs
    them once more on inputs that make them exact. unproven: keeps the accesses that are not proven in range, None if that is not
    asked. evidence: gets the arrays of wrong results.
    """

    def __init__(
        self,
        model: CompiledModel,
        golden: Golden | None,
        keep_going: bool,
        progress: Progress,
        refused: Container[str] = (),
        second_device: SecondDevice | None = None,
        rerun: WidePrecisionRerun | None = None,
        integer_inputs: IntegerInputs | None = None,
    ):
        self.kernels: dict[str, KernelReport] = {}
        self.unproven: UnprovenAccesses | None = None
        self.gives_places: Callable[[str], bool] | None = None
        self.sorted_places: list[np.ndarray] = []
        self.on_wrong: Callable[[FunctionCall, int, np.ndarray, Finding], None] | None = None
        self.wrong_stage: Callable[[str, Sequence[Argument]], str] | None = None
        self.evidence = Evidence()
        self.findings = FindingList()
        self.unchecked: dict[str, None] = {}
        self.graphs: dict[str, tuple[MLProgram, GraphRun]] = {}
        self.seconds = dict.fromkeys(("build", "device", "golden", "compare"), 0.0)
        self._model = model
        self._golden = golden
        self._refused = refused
        self._second_device = second_device
        self._rerun = rerun
        self._integer_inputs = integer_inputs
        self._distinguishing = None if golden is None or golden.forces else DistinguishingInputs(model, golden, model.constants)
        self.replaced: set[str] = set()
        self._keep_going = keep_going
        self._progress = progress
        self._known = False
        self._before: list[np.ndarray | None] | None = None
        self._begun: Future[list[Expected | None]] | None = None
        self._built: dict[str, Kernel] = {}
        self._started = 0.0
        self._replayed: set[str] = set()

    def before_function(self, call: FunctionCall) -> None:
        raise_if_interrupted()
        self._progress.step(call.function.name)
        self._before = self._begun = None
        self._known = self._golden is not None and self._golden.knows(call)
        if self._known or self._second_device is not None:
            start = time.perf_counter()
            self._before = [arg.read() if isinstance(arg, Tensor) else None for arg in call.args]
            self.seconds["compare"] += time.perf_counter() - start
            self._begin_golden(call)

    def _begin_golden(self, call: FunctionCall) -> None:
        """Have a thread find what the call should compute while the device runs it, unless both would need much memory."""
        golden, before = self._golden, self._before
        if golden is None or before is None or not (self._known and golden.needs_no_tvm(call)):
            return
        if sum(array.nbytes for array in before if array is not None) <= MOST_BESIDE:
            self._begun = begin(golden.results, call, arguments_with(call, before))

    def before_launch(self, launch: LaunchCall) -> None:
        self._built[launch.code.name] = launch.kernel
        self._started = time.perf_counter()

    def after_launch(self, launch: LaunchCall, result: LaunchResult) -> None:
        row = self._row(launch.code.name, launch.call.function)
        seconds = time.perf_counter() - self._started
        running = seconds if result.device_seconds is None else min(result.device_seconds, seconds)
        self.seconds["device"] += running
        self.seconds["build"] += seconds - running  # machine code is made when the work-group size is known
        row.seconds += seconds
        row.launches += 1
        if result.device_seconds is not None:
            row.device_seconds = (row.device_seconds or 0.0) + result.device_seconds
        if result.accesses is not None:
            row.accesses = row.accesses or AccessReport(result.accesses.places, result.accesses.proven_places)
            row.accesses.add(result.accesses)
        if result.counters is not None:
            row.counters = result.counters if row.counters is None else row.counters + result.counters
        self.unchecked.update(dict.fromkeys(result.failures))
        if self.unproven is not None:
            self.unproven.add(launch, result)
        self.findings.add(_with_kernel(finding, launch) for finding in result.findings)

    def after_graph(self, graph: GraphCall, run: GraphRun) -> None:
        row = self._row(graph.graph, graph.call.function)
        self.seconds["device"] += run.seconds
        row.seconds += run.seconds
        row.launches += 1
        self.graphs[graph.graph] = (graph.program, run)

    def storage_reused(self, tensor: str, live: list[str], where: str) -> None:
        message = f"{tensor} is made over bytes of {', '.join(live)}, which {'live' if len(live) > 1 else 'lives'} ({where})"
        self.findings.add([Finding(Kind.STORAGE_REUSED_LIVE, message, tensor=tensor)])

    def state_finding(self, finding: Finding) -> None:
        self.findings.add([finding])

    def after_function(self, call: FunctionCall) -> None:
        before, self._before = self._before, None
        if before is None:
            return
        golden = self._results(call, before) if self._known else None
        start = time.perf_counter()
        if self._second_device is not None:
            self.findings.add(
                self._second_device.compare(call, before, golden, lambda position: self._writer_row(call, position))
            )
        wrong = golden is not None and not self._compare(call, before, golden)
        if self._golden is not None and self._golden.forces and golden is not None:
            _write(call, golden)
        self.seconds["compare"] += time.perf_counter() - start
        drop_resident_pages()
        if wrong and not self._keep_going:
            raise FirstWrong(f"call {call.index} ({call.function.name})")

    def _compare(self, call: FunctionCall, before: list[np.ndarray | None], golden: Sequence[Expected | None]) -> bool:
        """Judge every result of a call; False if one is wrong. It runs again in wider types where narrow ones would hide what is
        wrong, and where what seems wrong may be rounding."""
        got: dict[int, np.ndarray] = {}
        for position, (old, expected) in enumerate(zip(before, golden, strict=True)):
            if old is not None and expected is not None and is_result(call, position, old, expected.array):
                tensor = call.args[position]
                assert isinstance(tensor, Tensor)
                got[position] = tensor.read()
        if got and self.gives_places is not None and self.gives_places(call.function.golden):
            self.sorted_places.append(got[max(got)])
        other, how = self._run_over_others(call, before, golden)
        right = self._judge_results(call, before, golden, got, settled=other is not None)
        if right and other is not None:
            right = self._judge_results(call, other.before, other.golden, other.got, how, settled=True)
        if right and self._distinguishing is not None and (reason := self._distinguishing.find_reason(call, before)):
            scaled = self._distinguishing.run(call, before)
            if isinstance(scaled, str):
                self.unchecked[f"{call.function.name} on inputs that can tell ({reason}): {scaled}"] = None
            else:
                right = self._judge_results(call, scaled.before, scaled.golden, scaled.got, f", on scaled inputs ({reason}),")
        if right and self._integer_inputs is not None and self._integer_inputs.is_due(call):
            how = ", on whole numbers that it sums exactly,"
            right = all(
                self._judge_results(call, x.before, x.golden, x.got, how) for x in self._integer_inputs.runs(call, before)
            )
        return right

    def _run_over_others(
        self, call: FunctionCall, before: list[np.ndarray | None], golden: Sequence[Expected | None]
    ) -> tuple[OtherRun | None, str]:
        """A call whose own run says nothing, once more where it says something, and on what; None for another.

        One that reads no tensor runs over memory that holds other values: its constant says nothing where memory may have held
        it, and all where it did not. One that compares runs on values that it may look for.
        """
        if self._distinguishing is None:
            return None, ""
        if not self._distinguishing.takes_nothing(call):
            return self._distinguishing.run_over_sought(call, before, golden), ", on inputs with values that it may look for,"
        other = self._distinguishing.run_over_others(call, before, golden)
        return None if isinstance(other, str) else other, ", over memory that held other values,"

    def _judge_results(
        self,
        call: FunctionCall,
        before: list[np.ndarray | None],
        golden: Sequence[Expected | None],
        got: Mapping[int, np.ndarray],
        how: str = "",
        settled: bool = False,
    ) -> bool:
        """Judge results by position; False if one is wrong. how: of which other run than the model's they are: what agrees there
        says no more than the run did. settled: another run tells results that memory held anyway."""
        results: dict[int, Comparison] = {}
        for position, array in got.items():
            expected = golden[position]
            assert expected is not None
            results[position] = compare_touched(array, expected.reshape(array.shape), before[position])
            if settled:
                results[position] = replace(results[position], uninformative="")
        wrong = [position for position, result in results.items() if not result.ok]
        rerun = self._rerun
        wide: dict[int, Comparison] = {}
        verdicts: dict[int, RoundingVerdict] = {}
        if rerun is not None and wrong:
            verdicts, wide = tell_rounding_from_defect(rerun, call, before, golden, got, wrong)
        elif rerun is not None and not how and rerun.is_due(call):
            wide = rerun.judge(call, before, golden)
        right = True
        for position, result in results.items():
            told, ruling = wide.get(position, result), verdicts.get(position)
            if ruling is not None and ruling.is_rounding:
                self._report_rounding(call, position, golden[position], got[position], result, told, how)
                if not how:
                    self._note_nonfinite(call, position, got[position], before, golden[position])
                continue
            if how and result.ok:
                continue
            in_rerun = result.ok and told is not result and not (told.ok and not result.uninformative)
            named = f", evaluated in {rerun.describe(call)}," if in_rerun and rerun is not None else how
            note = "" if ruling is None else ruling.note
            judged = told if in_rerun else result
            right &= self._judge(call, position, before, golden[position], judged, named, note, own=not how)
        return right

    def replaces_call(self, call: FunctionCall) -> bool:
        """For a function with a refused kernel: its results are those of golden, and not compared."""
        launched = [launch.kernel for launch in call.function.launches()]
        if not self._keep_going or self._before is None or not self._known or not any(name in self._refused for name in launched):
            return False
        _write(call, self._results(call, self._before))
        self.replaced.update(launched)
        self._before = None
        return True

    def _results(self, call: FunctionCall, before: list[np.ndarray | None]) -> list[Expected | None]:
        assert self._golden is not None
        begun, self._begun = self._begun, None
        start = time.perf_counter()
        results = self._golden.results(call, arguments_with(call, before)) if begun is None else begun.result()
        self.seconds["golden"] += time.perf_counter() - start
        return results

    def _judge(
        self,
        call: FunctionCall,
        position: int,
        before: list[np.ndarray | None],
        golden: Expected | None,
        result: Comparison,
        how: str,
        note: str,
        own: bool = True,
    ) -> bool:
        """Report one result; False if it is wrong. how: of which other run than the model's it is. note: what is known of a wrong
        one. own: on its inputs."""
        assert golden is not None
        tensor = call.args[position]
        assert isinstance(tensor, Tensor)
        got = tensor.read()
        param = call.function.params[position].name
        name = _writer(self._model, call.function, param)
        row = self._row(name, call.function)
        _count(row, result)
        if result.uninformative:
            message = f"{param} of {call.function.name}: {result.uninformative}"
            self.findings.add([Finding(Kind.UNINFORMATIVE, message, kernel=name, tensor=tensor.name)])
        if own:
            self._note_nonfinite(call, position, got, before, golden)
        if result.ok:
            return True
        detail: dict[str, object] = {"function": call.function.name, "call": call.index, "index": result.worst, "got": result.got}
        detail |= {"golden": result.golden, "max_abs": result.max_abs, "max_ulp": result.max_ulp, "wrong": result.wrong}
        line = column = 0
        element = int(np.ravel_multi_index(result.worst, got.shape)) if result.worst else 0
        if own:
            self.evidence.add_array(tensor.name, name, got, golden.reshape(got.shape), around=element)
        if (
            own and name not in self._replayed and call.device.info.records_stores and not call.function.graphs()
        ):  # one replay a kernel: more would show the same stores
            self._replayed.add(name)
            stores = replay(self._model, call, self._built, before, position, element)
            detail["stores"] = stores
            line, column = (stores[-1]["line"], stores[-1]["column"]) if stores else (0, 0)
        assert self._golden is not None
        what = self._golden.describe(call)
        message = f"{param} of {call.function.name} (call {call.index}){how} is not what its {what} computes: {result}"
        message += self._blame(call, before, own) + note
        finding = Finding(Kind.WRONG_VALUE, message, name, line, column, tensor=tensor.name, detail=detail)
        self.findings.add([finding])
        if self.on_wrong is not None and own:
            self.on_wrong(call, position, golden.array, finding)
        return False

    def _report_rounding(
        self,
        call: FunctionCall,
        position: int,
        golden: Expected | None,
        got: np.ndarray,
        result: Comparison,
        told: Comparison,
        how: str,
    ) -> None:
        """A warning on a result that is further off than expected by nothing but rounding. told: what its rerun is."""
        assert golden is not None and golden.allowed is not None and self._rerun is not None
        tensor = call.args[position]
        assert isinstance(tensor, Tensor)
        param = call.function.params[position].name
        name = _writer(self._model, call.function, param)
        row = self._row(name, call.function)
        if not how:
            _count(row, replace(result, ok=True, uninformative=told.uninformative))
        expected = golden.reshape(got.shape)
        assert expected.allowed is not None
        message = (
            f"{param} of {call.function.name} (call {call.index}){how} is off by {abs(result.got - result.golden):.3g} at "
            f"{list(result.worst)}, where {float(expected.allowed[result.worst]):.3g} was expected ({result.wrong} of "
            f"{result.elements} elements, rms {result.rms:.3g}): its order of operations rounds more than its PrimFunc's. "
            f"Evaluated in {self._rerun.describe(call)} it is right, off by {told.max_abs:.3g} at most"
        )
        self.findings.add([Finding(Kind.LARGE_ROUNDING, message, kernel=name, tensor=tensor.name)])

    def _blame(self, call: FunctionCall, before: Sequence[np.ndarray | None], own: bool) -> str:
        """For a subgraph: text on its first operator that is wrong on its own inputs; for a kernel, on the stage that changed its
        meaning; "" where that is not known. own: on the run's inputs."""
        if self._golden is None or not self._golden.knows(call):
            return ""
        if call.function.name not in self.graphs:
            find, self.wrong_stage = self.wrong_stage, self.wrong_stage if not own else None
            stage = find(call.function.golden, arguments_with(call, before)) if own and find is not None else ""
            return stage and f"; {stage}"
        program, _ = self.graphs[call.function.name]
        inputs = [array for array in before[: len(program.graph.of("input"))] if array is not None]
        found = self._golden.blame(call, program.trace(inputs))
        return f"; first in {found}" if found else "; each operator alone is right"

    def _note_nonfinite(
        self, call: FunctionCall, position: int, got: np.ndarray, before: list[np.ndarray | None], golden: Expected | None
    ) -> None:
        """A warning where NaN or infinity comes up in a result."""
        assert golden is not None
        given = [array for place, _ in call.tensors(written=False) if (array := before[place]) is not None]
        what = find_birth(got, golden.reshape(got.shape), given, find_untouched(before[position], golden.array))
        tensor = call.args[position]
        if what and isinstance(tensor, Tensor):
            message = what.format(result=tensor.name, function=call.function.name)
            kernel = _writer(self._model, call.function, call.function.params[position].name)
            self.findings.add([Finding(Kind.NONFINITE_INTRODUCED, message, kernel=kernel, tensor=tensor.name)])

    def _writer_row(self, call: FunctionCall, position: int) -> KernelReport:
        return self._row(_writer(self._model, call.function, call.function.params[position].name), call.function)

    def _row(self, kernel: str, function: HostFunction) -> KernelReport:
        return self.kernels.setdefault(kernel, KernelReport(kernel, function.name))

    def finish(self) -> list[KernelReport]:
        """The rows, findings counted; a kernel that only fills workspaces points to the function that was compared."""
        compared = {row.function for row in self.kernels.values() if row.compared > row.vacuous}
        for row in self.kernels.values():
            if not row.compared and row.function in compared:
                row.part_of = row.function
            mine = [finding for finding in self.findings.as_list() if finding.kernel == row.name]
            row.errors = sum(finding.severity is Severity.ERROR for finding in mine)
            row.warnings = sum(finding.severity is Severity.WARNING for finding in mine)
        return list(self.kernels.values())


def _write(call: FunctionCall, results: Sequence[Expected | None]) -> None:
    """Give the call's tensors these contents, None = leave it."""
    for arg, expected in zip(call.args, results, strict=True):
        if isinstance(arg, Tensor) and expected is not None:
            arg.write(expected.array)


def _writer(model: CompiledModel, function: HostFunction, param: str) -> str:
    """The last kernel of `function` that may write `param`; its last kernel where none says so."""
    launches = function.launches()
    for launch in reversed(launches):
        for arg, declared in zip(launch.args, model.kernels[launch.kernel].params, strict=True):
            if isinstance(arg, BufferRef) and arg.name == param and declared.access in ("write", "read_write"):
                return launch.kernel
    return launches[-1].kernel if launches else function.name


def _count(row: KernelReport, result: Comparison) -> None:
    row.compared += 1
    row.wrong += not result.ok
    row.vacuous += bool(result.ok and result.uninformative)
    row.max_ulp = max(row.max_ulp, result.max_ulp)
    if result.max_abs >= row.max_abs:
        row.max_abs, row.worst_index = result.max_abs, result.worst


def _with_kernel(finding: Finding, launch: LaunchCall) -> Finding:
    """`finding` with its kernel, and with the host's name for a view that the kernel calls by its own."""
    if finding.kernel:
        return finding
    return replace(finding, kernel=launch.code.name)
