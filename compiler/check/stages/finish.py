"""The end of a report: times, machine code, its findings as the allow-list has them, and what a page shows of them."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.allow import AllowEntry
from ..allow import sort_findings
from ..evidence.keep import keep_evidence
from .context import CheckedRun


def judge_times(run: CheckedRun) -> None:
    """Hold predicted times against what is allowed, where they were asked for."""
    context, times = run.context, run.watchers.times
    if times is None:
        return
    from ....results.time_limits import TimeWish, find_beyond, find_unjudged  # with the model of times, which few checks need

    run.report.time = times.report
    if run.outputs is None:
        times.report.say_missing("kernels that the run did not come to")
    wish = TimeWish(context.options.max_time, context.options.baseline)
    context.findings.add(find_beyond(times.report, wish))
    context.unchecked += find_unjudged(times.report, wish)


def add_machine_code(run: CheckedRun) -> None:
    """Compile the kernels for the chips that were asked for."""
    context, builds, chips = run.context, run.builds, run.context.options.isa
    if chips is None or builds is None:
        return
    from ....backends.machine_code import compile_all  # few checks are asked for it

    with context.stage("machine code"):
        kernels = (builds.program(name)[name] for name in run.ready.compiled.kernels if name not in context.refused)
        run.report.machine_code, missing = compile_all(context.device, kernels, chips)
    context.unchecked += missing


def finish_report(run: CheckedRun, accepted: Sequence[AllowEntry]) -> None:
    """Put what was found into the report. accepted: the entries of the allow-list."""
    context, report, compiled, reproducer = run.context, run.report, run.ready.compiled, run.watchers.reproducer
    sort_findings(report, context.findings.as_list(), accepted, compiled)
    unproven = run.observer.counter.unproven
    report.unproven = unproven.by_kernel if unproven is not None else {}
    keep_evidence(report, compiled, context.evidence)
    if reproducer is not None and reproducer.written:
        report.reproduction = f"{context.options.reproduce}: {reproducer.written}"
    report.timings, report.unchecked = context.timings, context.unchecked
    report.readings = None if run.watchers.readings is None else run.watchers.readings.report
