"""Runs the model of a check: builds every kernel, runs, and says what the run did not come to."""

from __future__ import annotations

from contextlib import nullcontext

from ....base.errors import AdrenoSimError, BuildError, DeviceError, UnsupportedError
from ....base.rejected_call import rejected_call
from ....findings import Kind, Severity
from ....results.unwatched import find_unwatched
from ....results.verdict.exit_codes import EXIT_USAGE
from ...run.observer import Observer, Observers
from ...run.vm import VirtualMachine
from ..ahead import compiling_ahead
from ..evidence.keep import CallLog
from ..golden import find_out_of_tensor_indices
from ..judging.observer import FirstWrong
from ..offload import offload_report
from .context import CheckContext, CheckedRun


def execute(run: CheckedRun) -> None:
    """Build every kernel, run the model, and put what was found of its kernels into the report."""
    context, observer, reproducer = run.context, run.observer, run.watchers.reproducer
    log = CallLog(run.ready.compiled, context.evidence)
    watching = (reproducer, run.watchers.times, run.watchers.readings, observer, log)
    stopped: AdrenoSimError | None = None
    with VirtualMachine(
        run.ready.compiled, context.device, Observers(*(one for one in watching if one is not None)), run.builds
    ) as machine:
        try:
            _run(run, machine)
        except FirstWrong as first:
            context.unchecked.append(f"everything after {first}, the first wrong value (--keep-going goes on)")
        except AdrenoSimError as error:
            stopped = _cause(context, error)
            if reproducer is not None and isinstance(error, DeviceError):
                reproducer.write_rejected(error)
    log.finish()
    _split_run(run)
    _list_findings(run)
    if observer.replaced and stopped is None:
        stopped = next(iter(context.refused.values()))
        context.unchecked.append("outputs: golden results stood in for those of kernels that cannot run here")
    _list_unchecked(run)
    if stopped is not None:
        _stop(run, stopped)


def _run(run: CheckedRun, machine: VirtualMachine) -> None:
    context, ready, rerun = run.context, run.ready, run.judges.rerun
    with compiling_ahead(machine, ready.arrays, rerun) if ready.alone else nullcontext():
        _build(context, machine)
        with context.stage("run", len(ready.compiled.host_functions)):
            run.outputs = machine.run(ready.arrays)
            if ready.golden is not None and ready.golden.forces:
                machine.observer = Observer()  # golden results replaced those of each kernel: once more without
                run.outputs = None if run.observer.replaced else machine.run(ready.arrays)


def _build(context: CheckContext, machine: VirtualMachine) -> None:
    """Build every kernel. One that does not compile ends the run when it is launched: those before it are judged."""
    for name in machine.model.graphs:
        machine.graph(name)
    wanted = [name for name in machine.model.kernels if name not in context.refused]
    with context.stage("build", len(wanted)):
        for name in wanted:
            context.progress.step(name)
            try:
                machine.kernel(name)
            except BuildError as error:
                context.refused[name] = error
            except UnsupportedError as error:
                context.refused[name] = UnsupportedError(f"kernel {name}: {error}")


def _cause(context: CheckContext, error: AdrenoSimError) -> AdrenoSimError:
    """The error that ended the run; for a kernel that did not build, the one that names it."""
    if isinstance(error, (BuildError, UnsupportedError)):
        return next(iter(context.refused.values()), error)
    return error


def _split_run(run: CheckedRun) -> None:
    """The time of the run by what it went to; what is left is the host program's."""
    timings, seconds = run.context.timings, run.observer.timer.seconds
    timings["host"] = max(0.0, timings.pop("run", 0.0) - sum(seconds.values()))
    for stage, spent in seconds.items():
        timings[stage] = timings.get(stage, 0.0) + spent


def _list_findings(run: CheckedRun) -> None:
    """What was found of kernels, and of devices while they ran."""
    context, report, compiled, found = run.context, run.report, run.ready.compiled, run.observer.found
    found.findings.add(find_out_of_tensor_indices(run.ready.golden, compiled))
    report.kernels = run.observer.finish()
    context.unchecked += found.unchecked
    report.subgraphs, report.kept = offload_report(compiled, run.observer.reporter.graphs, context.device.info)
    context.findings.add(found.findings.as_list())
    context.findings.add(
        [one for one in context.device.take_warnings() if one.kind is not Kind.PITCH_RULES_DISAGREE]
    )  # TVM's run
    second = run.judges.second_device
    if second is not None:
        context.findings.add([one for one in second.device.take_warnings() if one.kind is Kind.UNFIT_DEVICE])
        second.close()
        context.unchecked += [f"{name} on {report.compared_with}: {why}" for name, why in second.refused.items()]


def _list_unchecked(run: CheckedRun) -> None:
    context, report, compiled = run.context, run.report, run.ready.compiled
    known = {kernel.name for kernel in report.kernels} | set(context.refused) | run.observer.replaced
    context.unchecked += [str(error).splitlines()[0] for error in context.refused.values()]
    idle = [name for name in (*compiled.kernels, *compiled.graphs) if name not in known]
    if run.outputs is None and idle:
        context.unchecked.append(f"{len(idle)} kernels that the run did not come to")
    else:
        context.unchecked += [f"kernel {name}: never launched" for name in idle]
    context.unchecked += find_unwatched(context.device.options.checks, context.device.info.checks_accesses)
    for kernel in report.kernels:
        if kernel.status == "vacuous":
            context.unchecked.append(f"kernel {kernel.name}: its results say nothing (see the vacuous-comparison finding)")
        elif kernel.status == "unchecked" and compiled.host_functions[kernel.function].golden == "":
            context.unchecked.append(f"kernel {kernel.name}: {kernel.function} has no PrimFunc before scheduling")


def _stop(run: CheckedRun, error: AdrenoSimError) -> None:
    """An error ends the check unless there is something to report: errors outrank it, with keep_going every kernel does.

    What a device refuses is a finding, unless the audit of the plan has said as much.
    """
    context, report = run.context, run.report
    if isinstance(error, DeviceError) and (finding := rejected_call(error)).kind not in context.audited:
        context.findings.add([finding])
    errors = any(finding.severity is Severity.ERROR for finding in context.findings.as_list())
    if not errors and not (context.options.keep_going and report.kernels):
        raise error
    report.stopped = str(error)
    report.stopped_code = error.exit_code if isinstance(error, UnsupportedError) else EXIT_USAGE
    if error not in context.refused.values():
        context.unchecked.append(f"everything after: {str(error).splitlines()[0]}")
