"""Judges what a model's run gave, where it came to its end."""

from __future__ import annotations

from ....findings import Finding, Kind
from ..evidence.arrays import digest
from ..outputs import Circumstances, count_open, judge_outputs
from .context import CheckedRun


def note_low_power(run: CheckedRun) -> None:
    """Name the kernels in halves that wider types could not judge."""
    rerun = run.judges.rerun
    if rerun is not None:
        weak = rerun.low_power().items()
        run.context.unchecked += [f"{name}, in halves: low power, no wide rerun: {why}" for name, why in weak]


def judge_whole(run: CheckedRun) -> None:
    """Compare the model's outputs with its references; nothing where the run ended early."""
    if run.outputs is not None:
        with run.context.stage("compare"):
            _judge(run)


def _judge(run: CheckedRun) -> None:
    context, report, ready, outputs = run.context, run.report, run.ready, run.outputs
    assert outputs is not None
    names = [item.name or str(i) for i, item in enumerate(ready.compiled.outputs)]
    report.digests = {name: digest(array) for name, array in zip(names, outputs, strict=True)}
    agree = all(kernel.status in ("ok", "part") for kernel in report.kernels)
    rounding = sorted({finding.kernel for finding in context.findings.as_list() if finding.kind is Kind.LARGE_ROUNDING})
    wrong = any(kernel.status == "wrong" for kernel in report.kernels)
    references, said, places = ready.references, len(ready.unchecked), run.observer.judge.sorted_places
    if places and not wrong and ready.follow is not None and (open_ := count_open(references)):
        references = ready.follow(places) or references
        what = f"on which {open_} elements of the outputs depend: these are judged by the order that the device found"
        context.unchecked.append(f"an order of sorted values that rounding decides, {what}")
    known = Circumstances(agree, ready.bound, rounding)
    truth, movement = (None, None) if wrong else (ready.truth, ready.movement)
    report.outputs, findings = judge_outputs(references, names, outputs, known, truth, movement, ready.wrong_pass)
    context.unchecked += ready.unchecked[said:]
    context.findings.add(findings)
    if ready.movement is not None:
        report.outputs_in_model = len(names)
        if not report.judged_outputs:
            context.findings.add([Finding(Kind.UNINFORMATIVE, "no reference says anything of any output of the model")])
