"""`Session`: calls of one compiled module, each checked as `check` does, whose state stays on the device between them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from ....backends.open import announce_devices
from ....base.allow import find_config
from ....base.bundle_name import find_wrong_name
from ....base.errors import AdrenoSimError, BuildError, OptionError, UnsupportedError
from ....base.progress import Progress
from ....device.protocol import Device
from ....results.merge import FindingList
from ....results.model import OutputReport, Report
from ....results.unwatched import find_unwatched
from ...artifact.model import CompiledModel
from ...artifact.script import RUNTIME, Script, Step
from ...run.builtins import call_builtin
from ...run.launch_times import LaunchTimes
from ...run.observer import Observers
from ...run.values import HostObject, Value, release
from ...run.vm import VirtualMachine
from ..allow import sort_findings
from ..device import open_for_check
from ..golden import find_out_of_tensor_indices
from ..judging.judges import choose_judges
from ..judging.observer import KernelObserver
from ..outputs import Circumstances
from ..prepare import CheckOptions
from ..support import refused_kernels, require_graphs
from .arguments import Arguments
from .compile import OPTIONS, compile_for_session
from .judge import judge_call
from .values import Argument, Held, Result, find_held, find_tensors, settle, wrap

if TYPE_CHECKING:
    from ....golden.session_callables import CallableReference
    from ....golden.session_reference import SessionReference


OF_HALVES = 2.0**-5
"""Relative tolerance of results of a module in halves: those of the reference are rounded as much. A kernel is judged closer."""


def _holds_halves(model: CompiledModel) -> bool:
    return any(param.dtype == "float16" for kernel in model.kernels.values() for param in kernel.params)


class Session:
    """A module on a device, for as long as the `with` block lasts.

    module: a Relax IRModule, whose public functions are the entries, or a bundle that `save` wrote. params: weights by the name
    of the parameter in any entry; each is put on the device once. reference: the same module for TVM's llvm target, which judges
    every call's results; or callables by the name of the function whose results each gives (`golden.session_callables`); None =
    the module itself where the CPU can run it. device, checks, progress: as of `check`. tolerance:
    relative, of results against the reference, in place of their type's. options: target, pipeline, without_fix, rule, weights,
    references, seed, strict, allow, time, as of `check`: with time, the report's `time` also has that of each call.

    Raises AdrenoSimError for bad input, UnsupportedError for what TVM or the device cannot do.
    """

    def __init__(
        self,
        module: Any,
        params: Mapping[str, Any] | None = None,
        *,
        device: str | Device | None = None,
        checks: str | None = None,
        reference: Any = None,
        tolerance: float | None = None,
        name: str = "session",
        progress: Progress | None = None,
        **options: Any,
    ):
        for given in options:
            if given not in OPTIONS:
                raise OptionError(given, f"means nothing for a session; there are: {', '.join(OPTIONS)}")
        self._options = CheckOptions.of(options, module)
        announce_devices([device] if isinstance(device, str) else [])
        asked = {key: value for key, value in {"checks": checks, "seed": options.get("seed")}.items() if value is not None}
        self._device = open_for_check(device, asked)
        self._timings: dict[str, float] = {}
        start = time.perf_counter()
        callables = reference if isinstance(reference, Mapping) else None
        ready = compile_for_session(module, reference if callables is None else None, name, self._options, self._device.info)
        self.model: CompiledModel = ready.model
        self._unchecked = list(ready.unchecked)
        self._timings["compile"] = time.perf_counter() - start
        require_graphs(self.model, self._device.info)
        self._refused: dict[str, AdrenoSimError] = dict(refused_kernels(self.model, self._device.info))
        self._golden = ready.golden
        judges = choose_judges(self.model, ready.golden, ready.kernels, self._device.info)
        self._observer = KernelObserver(
            self.model, judges, keep_going=True, progress=progress or Progress(), refused=self._refused
        )
        self._reference: SessionReference | CallableReference | None
        self._reference = self._make_reference(module, reference) if callables is None else self._take_callables(callables)
        self._tolerance = tolerance
        if tolerance is None and _holds_halves(self.model):
            self._tolerance = OF_HALVES
            why = (
                "the reference computes in halves too"
                if given is None
                else "the rounding of halves from kernel to kernel is not followed"
            )
            self._unchecked.append(f"results of calls, closer than {OF_HALVES:.2%}: {why}")
        self._times = LaunchTimes(self._device) if self._options.time else None
        watching = self._observer if self._times is None else Observers(self._times, self._observer)
        self._machine = VirtualMachine(self.model, self._device, watching)
        self._arguments = Arguments(self._machine, self._reference, params or {})
        self._findings = FindingList()
        self._outputs: list[OutputReport] = []
        self._steps: list[Step] = []
        self._recorded: dict[str, np.ndarray] = {}
        self._held: WeakSet[Held] = WeakSet()
        self._closed = False

    def _make_reference(self, module: Any, given: Any) -> SessionReference | None:
        if self._golden is None and given is None:
            return None
        from ....golden.errors import NoReferenceError
        from ....golden.session_reference import SessionReference

        start = time.perf_counter()
        try:
            return SessionReference(module if given is None else given)
        except NoReferenceError as error:
            if given is not None:
                raise AdrenoSimError(f"reference: {error}") from error
            self._unchecked.append(f"results of calls, against {error}: reference= takes the same module for TVM's llvm target")
            return None
        finally:
            self._timings["references"] = time.perf_counter() - start

    def _take_callables(self, given: Mapping[str, Any]) -> CallableReference:
        from ....golden.session_callables import CallableReference

        if unknown := [name for name in given if name not in self.model.entries and not name.startswith(RUNTIME)]:
            functions = ", ".join(self.model.entries)
            raise AdrenoSimError(f"reference of {unknown[0]}: expected one of {functions}, or of {RUNTIME}...")
        left = [name for name in self.model.entries if name not in given]
        self._unchecked += [f"results of {name}: no reference was given for it" for name in left]
        return CallableReference(given)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free everything on the device. The report stays."""
        if self._closed:
            return
        self._closed = True
        for held in list(self._held):
            held.free()
        self._arguments.close()
        self._machine.close()

    def call(self, function: str, *args: Argument, **named: Argument) -> Result:
        """Call an entry of the module, or a function of TVM's runtime (`vm.builtin.kv_state_add_sequence`, ...).

        args: in the order of the parameters that are neither named nor weights: arrays, results of earlier calls, numbers, shapes
        as tuples of integers. Returns what the function gives: tensors and state as handles that stay on the device
        (`.numpy()` copies a tensor from it), numbers unchanged, tuples of these. Raises AdrenoSimError if the call cannot
        be made.
        """
        if self._closed:
            raise AdrenoSimError(f"call of {function}: the session has ended")
        values = self._values(function, args, named)
        step = len(self._steps)
        made: list[Value] = []
        names = [f"{function}_{i}" for i in range(len(values))]
        try:
            passed = [self._arguments.to_device(value, name, made) for value, name in zip(values, names, strict=True)]
            value = self._run(function, passed)
        finally:
            for one in made:
                release(one)
        try:
            expected = self._expect(function, values, value, step)
            result = wrap(value, step, expected, self._split)
        finally:
            release(value)
        for held in find_held(result):
            self._held.add(held)
        written = tuple(self._arguments.to_script(value) for value in values)
        self._steps.append(Step(function, written, len(find_tensors(result))))
        self._judge(function, step, result, expected)
        return result

    def _values(self, function: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        if function.startswith(RUNTIME):
            if named:
                raise AdrenoSimError(f"{function}: a function of TVM's runtime takes no arguments by name")
            return list(args)
        if function not in self.model.entries:
            raise AdrenoSimError(f"no entry {function!r}; the module has {', '.join(self.model.entries)}")
        return self._arguments.complete(self.model.entries[function], function, args, named)

    def _run(self, function: str, passed: list[Value]) -> Value:
        start = time.perf_counter()
        try:
            if function.startswith(RUNTIME):
                value = call_builtin(function, passed, self._machine)
            else:
                value = self._machine.call(function, passed)
            self._device.finish()
            if self._times is not None:
                self._times.report.end_call(function)
            return value
        except (BuildError, UnsupportedError) as error:
            raise next((known for name, known in self._refused.items() if name in str(error)), error) from error
        finally:
            self._timings["run"] = self._timings.get("run", 0.0) + time.perf_counter() - start

    def _expect(self, function: str, values: list[Any], result: Value, step: int) -> Any:
        """What the reference gives; None if there is none, or where it would have to know what an argument's call gave.

        result: what the device gave.
        """
        if self._reference is None:
            return None
        known = [value.expected is not None for value in values if isinstance(value, Held)]
        if function not in self._reference:
            if any(
                isinstance(value.value, HostObject) for value in values if isinstance(value, Held) and value.expected is not None
            ):
                raise AdrenoSimError(
                    f"reference of {function}: none was given, and it may change state that another keeps: give one too"
                )
            return None
        if self._reference.needs_every_call and not all(known):
            return None
        from ....golden.errors import RefusedInputsError

        start = time.perf_counter()
        try:
            found = self._reference.call(function, [self._arguments.to_reference(value) for value in values])
            return found if self._reference.needs_every_call else settle(found, result, f"reference of {function} (call {step})")
        except RefusedInputsError as error:
            raise AdrenoSimError(f"call {step} ({function}): the device ran it, the reference does not: {error}") from error
        finally:
            self._timings["references"] = self._timings.get("references", 0.0) + time.perf_counter() - start

    def _split(self, expected: Any) -> list[Any] | None:
        return None if expected is None or self._reference is None else self._reference.items_of(expected)

    def _judge(self, function: str, step: int, result: Result, expected: Any) -> None:
        if expected is None or self._reference is None:
            return
        name, tensors = self._reference.name, find_tensors(result)
        known = {f"{step}/{name}/{i}": self._reference.as_array(held.expected) for i, held in enumerate(tensors)}
        if isinstance(result, (int, float)) and result != expected:
            numbers = [np.asarray(result)], [np.asarray(expected)]
            self._findings.add(judge_call(function, step, name, *numbers, Circumstances(True))[1])
        got = [held.numpy() for held in tensors]
        agree = all(kernel.status in ("ok", "part", "unchecked") for kernel in self._observer.rows.kernels.values())
        rows, findings = judge_call(function, step, name, got, list(known.values()), Circumstances(agree, self._tolerance))
        self._outputs += rows
        self._findings.add(findings)
        said = {key: array for key, array in known.items() if array is not None}
        if len(said) < len(known):  # a bundle holds what is said of all results, or nothing
            self._unchecked.append(
                f"{len(known) - len(said)} results of {function} (call {step}): the reference says nothing of them"
            )
            return
        self._recorded |= said
        self._steps[step] = replace(self._steps[step], references=(name,))

    def keep_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Have arguments that are these very arrays put on the device once."""
        self._arguments.weights |= {f"recorded/{key}": array for key, array in arrays.items()}

    def judge_recorded(self, number: int, step: Step, got: list[np.ndarray]) -> None:
        """Compare what a call gave with what a bundle says of it."""
        for reference in step.references:
            expected = [self.model.recorded[f"{number}/{reference}/{i}"] for i in range(step.outputs)]
            rows, findings = judge_call(step.function, number, reference, got, expected, Circumstances(False, self._tolerance))
            self._outputs += rows
            self._findings.add(findings)

    def note_unchecked(self, sentences: Iterable[str]) -> None:
        self._unchecked += sentences

    def report(self) -> Report:
        """The report of all calls so far: kernels over all of them, and the results of each."""
        model = self.model
        report = Report(
            model=model.name, target=model.target, pipeline=model.pipeline, fixes=model.fixes, device=self._device.info.name,
            checks=self._device.options.checks, seed=self._options.seed, tvm_version=model.tvm_version,
            kernels_in_model=len(model.kernels) + len(model.graphs), strict=self._options.strict,
        )  # fmt: skip
        observer = self._observer
        report.kernels = observer.finish()
        report.time = None if self._times is None else self._times.report
        report.outputs = list(self._outputs)
        launched = {kernel.name for kernel in report.kernels}
        report.unchecked = [*self._unchecked, *observer.found.unchecked, "memory plan: of several entries"]
        report.unchecked += [f"kernel {name}: never launched" for name in model.kernels if name not in launched]
        report.unchecked += find_unwatched(self._device.options.checks, self._device.info.checks_accesses)
        entries = find_config(Path.cwd()) if self._options.allow is None else self._options.allow
        self._findings.add(self._device.take_warnings())
        every = FindingList()
        every.add(observer.found.findings.as_list())
        every.add(find_out_of_tensor_indices(self._golden, model))
        every.add(self._findings.as_list())
        sort_findings(report, every.as_list(), entries, model)
        named = {finding.kernel for finding in report.findings}
        report.sources = {name: code.source for name, code in model.kernels.items() if name in named}
        report.timings = dict(self._timings)
        return report

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a bundle: the model, the calls so far and what each should give. `check` runs it without TVM."""
        if wrong := find_wrong_name(path):
            raise OptionError("save", f"{path}: {wrong}")
        recorded = {**self._arguments.recorded, **self._recorded}
        script = Script(tuple(self._steps), tuple(self._unchecked), self._tolerance)
        replace(self.model, script=script, recorded=recorded).save(path)
