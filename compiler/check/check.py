"""`check`: compile a model, run every kernel on a device, compare, audit the plan, and report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...backends.machine_code import compile_all
from ...backends.open import announce_devices, open_device
from ...base.allow import find_config
from ...base.bundle_name import find_wrong_name
from ...base.errors import AdrenoSimError, BuildError, DeviceError, OptionError, UnsupportedError
from ...base.processes.interrupts import raise_if_interrupted
from ...base.progress import Progress
from ...base.rejected_call import rejected_call
from ...device.compiling import find_compiler
from ...device.protocol import Device, DeviceInfo
from ...findings import Finding, Kind, Severity
from ...memory.spilled import drop_resident_pages
from ...results.evidence import Evidence
from ...results.merge import FindingList
from ...results.model import EXIT_USAGE, Report
from ...results.time_limits import TimeWish, find_beyond, find_unjudged
from ...results.unwatched import find_unwatched
from ..artifact.memory_plan import MemoryPlan
from ..artifact.model import CompiledModel, as_compiled, is_compiled
from ..lower.targets import thread_limit
from ..plan.apply import replan, require_plan
from ..plan.audit import audit
from ..plan.rules import DeviceRules
from ..run.builds import Builds
from ..run.launch_readings import ReadingsObserver
from ..run.launch_times import LaunchTimes
from ..run.observer import Observer, Observers
from ..run.vm import VirtualMachine
from .ahead import compiling_ahead
from .allow import sort_findings
from .device import open_for_check
from .evidence.arrays import describe_input, digest
from .evidence.keep import CallLog, keep_evidence
from .golden import find_out_of_tensor_indices
from .judging.judges import Found, choose_judges
from .judging.observer import FirstWrong, KernelObserver
from .offload import offload_report
from .outputs import Circumstances, count_open, judge_outputs
from .prepare import ApplyPlan, CheckOptions, Inputs, PreparedRun, Source, Stage, prepare
from .reproduce import Reproducer
from .second_device import SecondDevice
from .support import oversized_groups, refused_kernels, require_graphs, require_images, unfit_parameters
from .whole_model.inputs import Outputs
from .wide_precision_rerun import WidePrecisionRerun

INFLATED = 1.1
"""planned / right bytes from which a memory plan is reported as inflated."""

UNIT = 128
"""Bytes that the size of a storage may be rounded up to: addresses of tensors are multiples of it."""


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

    model: path of an .onnx file, of a .pt2 file, of a .py file with a TVMScript module, or of a saved bundle (.asim); an ONNX
    model, a torch.export.ExportedProgram, a Relax IRModule, or a CompiledModel. A bundle is only run: it has no references to
    compare with, and says so.
    inputs: arrays by name or in order, or a file (.npz, .npy, picture); None = seeded, scaled until nothing saturates.
    device: a device string or an open device; None = ADRENO_SIM_DEVICE, else sim:adreno-740. checks: "off", "bounds" or
    "full", for a device string. progress: told what happens. options: the fields of CheckOptions.

    Returns a Report; defects are its findings. What the device refuses is a finding. Raises AdrenoSimError for bad input and
    UnsupportedError for what TVM or the device cannot do, unless errors were found before (then the report says where it
    stopped). A crash of TVM, ONNX Runtime or PyTorch ends the calling process (docs/api.md says what to do about it).
    """
    wanted = CheckOptions.of(options, model)
    if wanted.save is not None and is_compiled(model):
        raise OptionError("save", "this is a bundle already")
    if wanted.references and is_compiled(model):
        raise OptionError("references", "a bundle carries its own; give the model itself")
    if wanted.save is not None and (wrong := find_wrong_name(wanted.save)):
        raise OptionError("save", f"{wanted.save}: {wrong}")
    if wanted.reproduce_kernel and wanted.reproduce is None:
        raise OptionError("reproduce_kernel", "names the kernel to reproduce, and nothing is to be reproduced (reproduce)")
    if wanted.plan is not None:
        require_plan(wanted.plan)
    announce_devices(text for text in (device, wanted.compare_with) if isinstance(text, str))
    asked = {"checks": checks, "seed": options.get("seed")}
    asked = {name: value for name, value in asked.items() if value is not None}
    bundle = as_compiled(model)
    if bundle is not None and bundle.entries:
        return _check_session(bundle, inputs, device, checks, progress, options)
    run = CheckRun(open_for_check(device, asked, wanted.counters), wanted, progress or Progress(), asked)
    return run.run(partial(prepare, model if bundle is None else bundle, inputs, wanted, own=wanted.references))


def _check_session(
    bundle: CompiledModel,
    inputs: Inputs | None,
    device: str | Device | None,
    checks: str | None,
    progress: Progress | None,
    options: dict[str, Any],
) -> Report:
    """Run the calls that a bundle of a session carries. OptionError for what says nothing about them."""
    from .session.compile import OPTIONS
    from .session.replay import check_script

    if inputs is not None:
        raise OptionError("inputs", "this is a bundle of a session: its calls have their own")
    given = {name: value for name, value in options.items() if value not in (None, (), [], {}, False)}
    for name in given:
        if name not in (*OPTIONS, "keep_going"):
            raise OptionError(name, "means nothing for a bundle of a session")
    given.pop("keep_going", None)  # every call runs anyway
    return check_script(bundle, device, checks, progress, given)


@dataclass
class CheckRun:
    """One check: fills a Report stage by stage.

    asked: the caller's RunOptions, which a second device gets too. refused: kernels that do not build, by name, with the
    reason. audited: kinds of findings about the memory plan.
    """

    device: Device
    options: CheckOptions
    progress: Progress
    asked: dict[str, Any] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    findings: FindingList = field(default_factory=FindingList)
    refused: dict[str, AdrenoSimError] = field(default_factory=dict)
    audited: set[Kind] = field(default_factory=set)
    reproducer: Reproducer | None = None
    second_device: SecondDevice | None = None
    builds: Builds | None = None
    times: LaunchTimes | None = None
    evidence: Evidence = field(default_factory=Evidence)
    readings: ReadingsObserver = field(init=False)

    def run(self, prepare_run: Callable[[DeviceInfo, Stage, ApplyPlan], PreparedRun]) -> Report:
        """Prepare a run for the device, run it, judge everything. Errors as `check`."""
        try:
            return self._run(prepare_run)
        finally:
            if self.builds is not None:
                self.builds.close()

    def _run(self, prepare_run: Callable[[DeviceInfo, Stage, ApplyPlan], PreparedRun]) -> Report:
        entries = find_config(Path.cwd()) if self.options.allow is None else self.options.allow
        folder = self.options.reproduce
        self.reproducer = None if folder is None else Reproducer(Path(folder), self.options.reproduce_kernel)
        self.times = LaunchTimes(self.device) if self.options.time else None
        self.readings = ReadingsObserver(self.device, self.options.every_reading, self.findings)
        second = None if self.options.compare_with is None else open_device(self.options.compare_with, **self.asked)
        compiler = find_compiler(self.device)
        if compiler is not None:
            compiler.begin_compiler()  # while TVM is imported
        ready = prepare_run(self.device.info, self._stage, self._settle)
        self.unchecked += ready.unchecked
        report = self._report(ready)
        self._require(ready.compiled)
        if ready.kernels is not None:  # of a bundle the target is a name alone
            self.findings.add(oversized_groups(ready.compiled, thread_limit(self.options.target)))
        wanted = self.options.reproduce_kernel
        if wanted and wanted not in ready.compiled.kernels:
            known = f"the model has no such kernel; there are: {', '.join(ready.compiled.kernels) or 'none'}"
            raise OptionError("reproduce_kernel", f"{wanted}: {known}")
        if second is not None:
            self.second_device = SecondDevice(ready.compiled, second)
            report.compared_with = second.info.name
        judges = replace(
            choose_judges(ready.compiled, ready.golden, ready.kernels, self.device.info),
            second_device=self.second_device,
            gives_places=None if ready.kernels is None else ready.kernels.gives_places,
            wrong_stage=ready.wrong_stage,
        )
        rerun = judges.rerun
        observer = KernelObserver(
            ready.compiled,
            judges,
            keep_going=self.options.keep_going,
            progress=self.progress,
            refused=self.refused,
            explains=self.options.explain,
            found=Found(evidence=self.evidence, on_wrong=None if self.reproducer is None else self.reproducer.wrong_value),
        )
        outputs = self._execute(ready, observer, report, rerun)
        if rerun is not None:
            self.unchecked += [f"{name}, in halves: low power, no wide rerun: {why}" for name, why in rerun.low_power().items()]
        if outputs is not None:
            with self._stage("compare"):
                self._judge_outputs(report, ready, outputs, observer.judge.sorted_places)
        self._judge_times(report, whole=outputs is not None)
        self._add_machine_code(report, ready.compiled)
        sort_findings(report, self.findings.as_list(), entries, ready.compiled)
        unproven = observer.counter.unproven
        report.unproven = unproven.by_kernel if unproven is not None else {}
        self._keep_evidence(report, ready.compiled)
        report.timings, report.unchecked, report.readings = self.timings, self.unchecked, self.readings.report
        return report

    def _judge_times(self, report: Report, whole: bool) -> None:
        if self.times is None:
            return
        report.time = self.times.report
        if not whole:
            report.time.say_missing("kernels that the run did not come to")
        wish = TimeWish(self.options.max_time, self.options.baseline)
        self.findings.add(find_beyond(report.time, wish))
        self.unchecked += find_unjudged(report.time, wish)

    def _keep_evidence(self, report: Report, compiled: CompiledModel) -> None:
        """What a page shows, and where a failing launch was written."""
        keep_evidence(report, compiled, self.evidence)
        if self.reproducer is not None and self.reproducer.written:
            report.reproduction = f"{self.options.reproduce}: {self.reproducer.written}"

    def _require(self, compiled: CompiledModel) -> None:
        """Refuse what the device lacks before anything runs; with keep_going, only the kernels that need it."""
        require_graphs(compiled, self.device.info)
        require_images(compiled, self.device.info)
        self.findings.add(unfit_parameters(compiled))
        self.refused.update(refused_kernels(compiled, self.device.info))
        if self.refused and not self.options.keep_going:
            first = str(next(iter(self.refused.values())))
            raise UnsupportedError(
                f"{first} ({len(self.refused)} of {len(compiled.kernels)} kernels; --keep-going runs the others)"
            )

    def _report(self, ready: PreparedRun) -> Report:
        compiled = ready.compiled
        report = Report(
            model=compiled.name,
            target=compiled.target,
            pipeline=compiled.pipeline,
            fixes=compiled.fixes,
            tuned=ready.tuned,
            scopes=ready.scopes,
            device=self.device.info.name,
            checks=self.device.options.checks,
            seed=self.options.seed,
            tvm_version=compiled.tvm_version,
            kernels_in_model=len(compiled.kernels) + len(compiled.graphs),
            strict=self.options.strict,
            inputs=[describe_input(name, array, ready.origin) for name, array in ready.arrays.items()],
        )
        if compiled.plan is not None:
            report.plan = compiled.plan.summary
            with self._stage("plan"):
                self._audit_plan(report, compiled.plan)
        else:
            self.unchecked.append("memory plan: input shapes are symbolic")
        return report

    def _settle(self, compiled: CompiledModel) -> CompiledModel:
        """The model with the memory plan to run with, saved where the options name a file; its kernels are being built."""
        if self.options.plan is not None:
            with self._stage("plan"):
                compiled = replan(compiled, self.options.plan, DeviceRules.of_device(self.device))
        if self.options.save is not None:
            with self._stage("save"):
                compiled.save(self.options.save)
        self.builds = Builds(compiled, self.device)
        self.builds.begin(compiled.kernels)  # while references still run
        return compiled

    def _add_machine_code(self, report: Report, compiled: CompiledModel) -> None:
        if self.options.isa is None or self.builds is None:
            return
        with self._stage("machine code"):
            kernels = (self.builds.program(name)[name] for name in compiled.kernels if name not in self.refused)
            report.machine_code, missing = compile_all(self.device, kernels, self.options.isa)
        self.unchecked += missing

    def _audit_plan(self, report: Report, whole: MemoryPlan) -> None:
        audited = audit(whole, DeviceRules.of_device(self.device), self.options.plan or "tvm")
        report.planner, report.plan_causes = self.options.plan or "", audited.causes
        self.findings.add(audited.findings)
        self.audited = {finding.kind for finding in audited.findings}
        plan = report.plan
        if plan is not None and plan.inflation > INFLATED and plan.planned - plan.right > plan.storages * UNIT:
            message = (
                f"{plan.planned:,} bytes planned, {plan.right:,} with right texture sizes ({plan.inflation:.2f}x); "
                f"live lower bound {plan.live_lower_bound:,}"
            )
            self.findings.add([Finding(Kind.PLAN_INFLATED, message)])

    def _execute(
        self, ready: PreparedRun, observer: KernelObserver, report: Report, rerun: WidePrecisionRerun | None
    ) -> Outputs | None:
        """Build every kernel, run the model; outputs, or None where the run ended early (the report says why)."""
        outputs = None
        stopped: AdrenoSimError | None = None
        log = CallLog(ready.compiled, self.evidence)
        watching = Observers(*(one for one in (self.reproducer, self.times, self.readings, observer, log) if one is not None))
        with VirtualMachine(ready.compiled, self.device, watching, self.builds) as machine:
            try:
                self._build(machine)
                ahead = compiling_ahead(machine, ready.arrays, rerun) if ready.alone else nullcontext()
                with self._stage("run", len(ready.compiled.host_functions)), ahead:
                    outputs = machine.run(ready.arrays)
                    if ready.golden is not None and ready.golden.forces:
                        machine.observer = Observer()  # golden results replaced those of each kernel: once more without
                        outputs = None if observer.replaced else machine.run(ready.arrays)
            except FirstWrong as first:
                self.unchecked.append(f"everything after {first}, the first wrong value (--keep-going goes on)")
            except AdrenoSimError as error:
                stopped = self._cause(error)
                if self.reproducer is not None and isinstance(error, DeviceError):
                    self.reproducer.write_rejected(error)
        log.finish()
        self._split_run(observer)
        observer.found.findings.add(find_out_of_tensor_indices(ready.golden, ready.compiled))
        report.kernels = observer.finish()
        self.unchecked += observer.found.unchecked
        report.subgraphs, report.kept = offload_report(ready.compiled, observer.reporter.graphs, self.device.info)
        self.findings.add(observer.found.findings.as_list())
        self.findings.add([one for one in self.device.take_warnings() if one.kind is not Kind.PITCH_RULES_DISAGREE])  # TVM's run
        if self.second_device is not None:
            self.findings.add([one for one in self.second_device.device.take_warnings() if one.kind is Kind.UNFIT_DEVICE])
            self.second_device.close()
            self.unchecked += [f"{name} on {report.compared_with}: {why}" for name, why in self.second_device.refused.items()]
        if observer.replaced and stopped is None:
            stopped = next(iter(self.refused.values()))
            self.unchecked.append("outputs: golden results stood in for those of kernels that cannot run here")
        self._list_unchecked(ready.compiled, report, observer.replaced, ended_early=outputs is None)
        if stopped is not None:
            self._stop(report, stopped)
        return outputs

    def _split_run(self, observer: KernelObserver) -> None:
        """The time of the run by what it went to; what is left is the host program's."""
        self.timings["host"] = max(0.0, self.timings.pop("run", 0.0) - sum(observer.timer.seconds.values()))
        for stage, seconds in observer.timer.seconds.items():
            self.timings[stage] = self.timings.get(stage, 0.0) + seconds

    def _build(self, machine: VirtualMachine) -> None:
        """Build every kernel. One that does not compile ends the run when it is launched: those before it are judged."""
        for name in machine.model.graphs:
            machine.graph(name)
        wanted = [name for name in machine.model.kernels if name not in self.refused]
        with self._stage("build", len(wanted)):
            for name in wanted:
                self.progress.step(name)
                try:
                    machine.kernel(name)
                except BuildError as error:
                    self.refused[name] = error
                except UnsupportedError as error:
                    self.refused[name] = UnsupportedError(f"kernel {name}: {error}")

    def _cause(self, error: AdrenoSimError) -> AdrenoSimError:
        """The error that ended the run; for a kernel that did not build, the one that names it."""
        if isinstance(error, (BuildError, UnsupportedError)):
            return next(iter(self.refused.values()), error)
        return error

    def _stop(self, report: Report, error: AdrenoSimError) -> None:
        """An error ends the check unless there is something to report: errors outrank it, with keep_going every kernel does.

        What a device refuses is a finding, unless the audit of the plan has said as much.
        """
        if isinstance(error, DeviceError) and (finding := rejected_call(error)).kind not in self.audited:
            self.findings.add([finding])
        errors = any(finding.severity is Severity.ERROR for finding in self.findings.as_list())
        if not errors and not (self.options.keep_going and report.kernels):
            raise error
        report.stopped = str(error)
        report.stopped_code = error.exit_code if isinstance(error, UnsupportedError) else EXIT_USAGE
        if error not in self.refused.values():
            self.unchecked.append(f"everything after: {str(error).splitlines()[0]}")

    def _list_unchecked(self, compiled: CompiledModel, report: Report, replaced: set[str], ended_early: bool) -> None:
        launched = {kernel.name for kernel in report.kernels}
        self.unchecked += [str(error).splitlines()[0] for error in self.refused.values()]
        idle = [name for name in (*compiled.kernels, *compiled.graphs) if name not in launched | set(self.refused) | replaced]
        if ended_early and idle:
            self.unchecked.append(f"{len(idle)} kernels that the run did not come to")
        else:
            self.unchecked += [f"kernel {name}: never launched" for name in idle]
        self.unchecked += find_unwatched(self.device.options.checks, self.device.info.checks_accesses)
        for kernel in report.kernels:
            if kernel.status == "vacuous":
                self.unchecked.append(f"kernel {kernel.name}: its results say nothing (see the vacuous-comparison finding)")
            elif kernel.status == "unchecked" and compiled.host_functions[kernel.function].golden == "":
                self.unchecked.append(f"kernel {kernel.name}: {kernel.function} has no PrimFunc before scheduling")

    def _judge_outputs(self, report: Report, ready: PreparedRun, outputs: Outputs, places: Sequence[np.ndarray]) -> None:
        """places: where the device says that sorted values come from."""
        names = [item.name or str(i) for i, item in enumerate(ready.compiled.outputs)]
        report.digests = {name: digest(array) for name, array in zip(names, outputs, strict=True)}
        agree = all(kernel.status in ("ok", "part") for kernel in report.kernels)
        rounding = sorted({finding.kernel for finding in self.findings.as_list() if finding.kind is Kind.LARGE_ROUNDING})
        wrong = any(kernel.status == "wrong" for kernel in report.kernels)
        truth = None if wrong else ready.truth
        references, said = ready.references, len(ready.unchecked)
        if places and not wrong and ready.follow is not None and (open_ := count_open(references)):
            references = ready.follow(places) or references
            what = f"on which {open_} elements of the outputs depend: these are judged by the order that the device found"
            self.unchecked.append(f"an order of sorted values that rounding decides, {what}")
        known = Circumstances(agree, ready.bound, rounding)
        movement = None if wrong else ready.movement
        report.outputs, findings = judge_outputs(references, names, outputs, known, truth, movement, ready.wrong_pass)
        self.unchecked += ready.unchecked[said:]
        self.findings.add(findings)
        if ready.movement is not None:
            report.outputs_in_model = len(names)
            if not report.judged_outputs:
                self.findings.add([Finding(Kind.UNINFORMATIVE, "no reference says anything of any output of the model")])

    @contextmanager
    def _stage(self, name: str, steps: int = 0) -> Iterator[None]:
        """Times a stage; one of a name that was there before is added to it. Stages do not nest."""
        self.progress.stage(name, steps)
        start = time.perf_counter()
        try:
            yield
            raise_if_interrupted()
        finally:
            drop_resident_pages()
            self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - start
