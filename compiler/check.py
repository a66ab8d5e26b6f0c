"""`check`: compile a model, run every kernel on a device, compare, audit the plan, and report."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union

import numpy as np

from ..device import AdrenoSimError, BuildError, Device, UnsupportedError, open_device
from ..findings import Finding, Kind, Severity
from ..report.merge import FindingList
from ..report.model import EXIT_USAGE, InputReport, Report
from ..report.progress import Progress
from .artifact import CompiledModel, TensorInfo
from .check_kernels import FirstWrong, KernelObserver
from .check_outputs import compare_outputs
from .importers import Model, ModelInput, load_model
from .inputs import Arrays, check_inputs, make_inputs
from .vm import VirtualMachine

if TYPE_CHECKING:
    from ..golden.model_reference import ModelReference
    from .pipeline import Lowered

Source = Any
"""What `check` takes: a path (.onnx, .py, .asim), an ONNX model, a Relax IRModule, or a CompiledModel."""

Inputs = Union[Mapping[str, np.ndarray], Sequence[np.ndarray], str, "os.PathLike[str]"]

SCALES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Scales tried for seeded float inputs, until the result neither saturates nor overflows."""

INFLATED = 1.1
"""planned / right bytes from which a memory plan is reported as inflated."""


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """How a model is compiled and judged; every field as the keyword of `check`."""

    target: str = "texture"
    pipeline: Literal["fixed", "stock"] = "fixed"
    without_fix: tuple[str, ...] = ()
    keep_going: bool = False
    strict: bool = False
    seed: int = 0
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)


def check(
    model: Source,
    inputs: Inputs | None = None,
    *,
    device: str | Device | None = None,
    checks: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Compile `model` with TVM's Adreno pipeline, run it on `device`, compare every kernel and the whole model.

    model: path of an .onnx file, of a .py file with a TVMScript module, or of a saved bundle (.asim); an ONNX model, a
    Relax IRModule, or a CompiledModel. A bundle is only run: it has no references to compare with, and says so.
    inputs: arrays by name or in order, or a file (.npz, .npy, picture); None = seeded, scaled until nothing saturates.
    device: a device string or an open device; None = ADRENO_SIM_DEVICE, else sim:adreno-740. checks: "off", "bounds" or
    "full", for a device string. progress: told what happens. options: the fields of CheckOptions:
    target ("texture", "buffer", "clml" or a tag), pipeline ("fixed", "stock"), without_fix (names of mends to leave out),
    keep_going (go on after the first wrong value), strict (warnings count), seed, shapes (input name -> shape).

    Returns a Report; defects are its findings. Raises AdrenoSimError for bad input or a launch that fails, and
    UnsupportedError for what TVM or the device cannot do, unless findings came before (then the report says where it stopped).
    """
    opened = _open(device, checks)
    return _Run(opened, CheckOptions(**options), progress or Progress()).run(model, inputs)


def _open(device: str | Device | None, checks: str | None) -> Device:
    if device is None or isinstance(device, str):
        return open_device(device, **({} if checks is None else {"checks": checks}))
    if checks is not None and checks != device.options.checks:
        raise AdrenoSimError(f"checks={checks!r}: the device is already open with checks={device.options.checks!r}")
    return device


@dataclass
class _Run:
    """One check: fills a Report stage by stage."""

    device: Device
    options: CheckOptions
    progress: Progress
    timings: dict[str, float] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    findings: FindingList = field(default_factory=FindingList)
    refused: dict[str, AdrenoSimError] = field(default_factory=dict)

    def run(self, source: Source, inputs: Inputs | None) -> Report:
        if isinstance(source, (str, os.PathLike)) and Path(source).suffix == ".asim":
            source = CompiledModel.load(source)
        if isinstance(source, CompiledModel):
            return self._run_bundle(source, inputs)
        from ..golden.kernel_reference import KernelReference
        from ..golden.model_reference import ModelReference
        from .extract import extract

        with self._stage("import"):
            model = load_model(source, self.options.shapes or None, self.options.seed)
        with self._stage("compile"):
            lowered = self._lower(model)
            compiled = extract(lowered, model.name)
        with self._stage("references"):
            kernels = KernelReference(lowered.unscheduled)
            whole = ModelReference(lowered.imported)
            arrays, origin = self._inputs(model, inputs, whole)
        self.unchecked += [f"function {name}: {reason}" for name, reason in kernels.unavailable.items()]
        report = self._report(compiled, arrays, origin)
        observer = KernelObserver(compiled, kernels, self.options.keep_going, self.progress)
        outputs = self._execute(compiled, arrays, observer, report)
        if outputs is not None:
            self._judge_outputs(report, compiled, model, outputs, arrays, whole)
        return self._finish(report)

    def _lower(self, model: Model) -> Lowered:
        """The module for this device: its image limits become the target's."""
        from .pipeline import lower
        from .targets import make_target

        options = self.options
        target = make_target(options.target, self.device.info.limits)
        return lower(model.module, target, options.pipeline, options.without_fix)

    def _run_bundle(self, compiled: CompiledModel, inputs: Inputs | None) -> Report:
        interface = tuple(ModelInput(item.name, item.shape, item.dtype) for item in compiled.inputs)
        arrays, origin = self._inputs(Model(compiled.name, None, interface), inputs, None)
        report = self._report(compiled, arrays, origin)
        self.unchecked.append("values: a bundle carries no references; check the model it was made from")
        self._execute(compiled, arrays, KernelObserver(compiled, None, self.options.keep_going, self.progress), report)
        return self._finish(report)

    def _inputs(self, model: Model, inputs: Inputs | None, whole: ModelReference | None) -> tuple[Arrays, str]:
        """The arrays, and in words where they come from."""
        if isinstance(inputs, (str, os.PathLike)):
            return make_inputs(model, inputs), str(inputs)
        if inputs is not None:
            names = [item.name for item in model.inputs]
            given = inputs if isinstance(inputs, Mapping) else _by_name(names, inputs)
            return check_inputs(model, given), "given"
        drawn = make_inputs(model, None, self.options.seed, self.options.shapes)
        if whole is None:
            return drawn, f"seed {self.options.seed}"
        scale = _best_scale(drawn, whole)
        return _scaled(drawn, scale), f"seed {self.options.seed}" + ("" if scale == 1 else f", scale {scale:g}")

    def _report(self, compiled: CompiledModel, arrays: Arrays, origin: str) -> Report:
        rms = {
            name: float(np.sqrt(np.mean(np.square(array, dtype=np.float64)))) if array.size else 0.0
            for name, array in arrays.items()
        }
        report = Report(
            model=compiled.name,
            target=compiled.target,
            pipeline=compiled.pipeline,
            fixes=compiled.fixes,
            device=self.device.info.name,
            checks=self.device.options.checks,
            seed=self.options.seed,
            tvm_version=compiled.tvm_version,
            kernels_in_model=len(compiled.kernels),
            strict=self.options.strict,
            inputs=[InputReport(name, array.shape, array.dtype.name, origin, rms[name]) for name, array in arrays.items()],
        )
        if compiled.plan is not None:
            report.plan = compiled.plan.summary
            self._audit_plan(report)
        else:
            self.unchecked.append("memory plan: input shapes are symbolic")
        return report

    def _audit_plan(self, report: Report) -> None:
        plan = report.plan
        if plan is not None and plan.inflation > INFLATED:
            message = (
                f"{plan.planned:,} bytes planned, {plan.right:,} with right texture sizes ({plan.inflation:.2f}x); "
                f"live lower bound {plan.live_lower_bound:,}"
            )
            self.findings.add([Finding(Kind.PLAN_INFLATED, message)])

    def _execute(
        self, compiled: CompiledModel, arrays: Arrays, observer: KernelObserver, report: Report
    ) -> list[np.ndarray] | None:
        """Build every kernel, run the model; outputs, or None where the run ended early (the report says why)."""
        outputs = None
        stopped: AdrenoSimError | None = None
        with VirtualMachine(compiled, self.device, observer) as machine:
            try:
                self._build(machine)
                with self._stage("run", len(compiled.host_functions)):
                    outputs = machine.run(arrays)
            except FirstWrong as first:
                self.unchecked.append(f"everything after {first}, the first wrong value (--keep-going goes on)")
            except AdrenoSimError as error:
                stopped = error
                if isinstance(error, (BuildError, UnsupportedError)):
                    stopped = next(iter(self.refused.values()), error)
        self.timings["run"] = self.timings.get("run", 0.0) - observer.seconds_golden
        self.timings["golden"] = observer.seconds_golden
        report.kernels = observer.finish()
        self.findings.add(observer.findings.as_list())
        self.findings.add(self.device.take_warnings())
        self._list_unchecked(compiled, report, outputs is None)
        if stopped is not None:
            self._stopped(report, stopped)
        return outputs

    def _build(self, machine: VirtualMachine) -> None:
        """Build every kernel. One that does not compile ends the run when it is launched: those before it are judged."""
        with self._stage("build", len(machine.model.kernels)):
            for name in machine.model.kernels:
                self.progress.step(name)
                try:
                    machine.kernel(name)
                except BuildError as error:
                    self.refused[name] = error
                except UnsupportedError as error:
                    self.refused[name] = UnsupportedError(f"kernel {name}: {error}")

    def _stopped(self, report: Report, error: AdrenoSimError) -> None:
        """An error ends the check unless there are errors to report: those outrank it."""
        if not any(finding.severity is Severity.ERROR for finding in self.findings.as_list()):
            raise error
        report.stopped = str(error)
        report.stopped_code = error.exit_code if isinstance(error, UnsupportedError) else EXIT_USAGE
        self.unchecked.append(f"everything after: {error}")

    def _list_unchecked(self, compiled: CompiledModel, report: Report, ended_early: bool) -> None:
        launched = {kernel.name for kernel in report.kernels}
        self.unchecked += [str(error).splitlines()[0] for error in self.refused.values()]
        idle = [name for name in compiled.kernels if name not in launched and name not in self.refused]
        if ended_early and idle:
            self.unchecked.append(f"{len(idle)} kernels that the run did not come to")
        else:
            self.unchecked += [f"kernel {name}: never launched" for name in idle]
        if not self.device.info.checks_accesses or self.device.options.checks == "off":
            self.unchecked.append("memory accesses: this device does not look at them, or was told not to")
        for kernel in report.kernels:
            if kernel.status == "vacuous":
                self.unchecked.append(f"kernel {kernel.name}: its results say nothing (see the vacuous-comparison finding)")
            elif kernel.status == "unchecked" and compiled.host_functions[kernel.function].golden == "":
                self.unchecked.append(f"kernel {kernel.name}: {kernel.function} has no PrimFunc before scheduling")

    def _judge_outputs(
        self,
        report: Report,
        compiled: CompiledModel,
        model: Model,
        outputs: list[np.ndarray],
        arrays: Arrays,
        whole: ModelReference,
    ) -> None:
        from ..golden.model_reference import has_onnxruntime, run_onnx

        names = [_output_name(item, i) for i, item in enumerate(compiled.outputs)]
        report.digests = {name: _digest(array) for name, array in zip(names, outputs, strict=True)}
        agree = all(kernel.status in ("ok", "part") for kernel in report.kernels)
        with self._stage("whole model"):
            references = {"TVM llvm": whole.run(list(arrays.values()))}
            if model.onnx is not None and has_onnxruntime():
                references["ONNX Runtime"] = run_onnx(model.onnx, arrays)
        if model.onnx is not None and "ONNX Runtime" not in references:
            self.unchecked.append("against ONNX Runtime: it is not installed")
        for reference, golden in references.items():
            reports, findings = compare_outputs(reference, names, outputs, golden, agree)
            report.outputs += reports
            self.findings.add(findings)

    def _finish(self, report: Report) -> Report:
        report.findings = self.findings.as_list()
        report.timings = self.timings
        report.unchecked = self.unchecked
        return report

    @contextmanager
    def _stage(self, name: str, steps: int = 0) -> Iterator[None]:
        self.progress.stage(name, steps)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[name] = time.perf_counter() - start


def _by_name(names: Sequence[str], inputs: Sequence[np.ndarray]) -> Arrays:
    if len(inputs) != len(names):
        raise AdrenoSimError(f"{len(inputs)} inputs given: the model expects {len(names)} ({', '.join(names)})")
    return dict(zip(names, inputs, strict=True))


def _output_name(item: TensorInfo, index: int) -> str:
    return item.name or str(index)


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _scaled(arrays: Arrays, scale: float) -> Arrays:
    if scale == 1:
        return arrays
    return {name: (array * scale).astype(array.dtype) if array.dtype.kind == "f" else array for name, array in arrays.items()}


def _best_scale(arrays: Arrays, whole: ModelReference) -> float:
    """The largest of SCALES at which the model's result says something; 1 if it never does, or has nothing to scale."""
    from ..golden.compare import vacuity

    if not any(array.dtype.kind == "f" for array in arrays.values()):
        return 1.0
    for scale in SCALES:
        if not any(vacuity(output) for output in whole.run(list(_scaled(arrays, scale).values()))):
            return scale
    return 1.0
