"""Every kind of result with hostile text in every field that may hold text, and every form in which it is put out."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from hostile_text import hold

from adreno_sim.base.json_io import dump_json, plain_json
from adreno_sim.base.specs import ImageSpec
from adreno_sim.base.text.stream import show_on
from adreno_sim.compiler.artifact.memory_plan import MemoryPlan
from adreno_sim.compiler.doctor.examine import Examination
from adreno_sim.compiler.explain.memory_scopes import ScopeReport
from adreno_sim.compiler.layers.listing import LayerList
from adreno_sim.compiler.plan.advice.advice import Advice, Change, PeakTensor
from adreno_sim.compiler.plan.compare import PlannerResult
from adreno_sim.compiler.plan.difference import PlanDifference
from adreno_sim.compiler.plan.footprint import Footprint, measure
from adreno_sim.compiler.plan.problem import Item, Problem
from adreno_sim.compiler.plan.replan import AS_COMPILED
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.compiler.plan.trial import DeviceTrial
from adreno_sim.compiler.precision.report import PrecisionReport
from adreno_sim.compiler.schedule_search.report import CandidateResult, TaskReport, TuneReport
from adreno_sim.compiler.session_footprint.measure import EntryFootprint, SessionFootprint
from adreno_sim.device.machine_code import KernelCode, MachineCode
from adreno_sim.findings import Finding, Kind
from adreno_sim.frontend.diagnostics import Diagnostic
from adreno_sim.image import layout_of
from adreno_sim.image.drawing import layout_svg
from adreno_sim.profiles.profile import load
from adreno_sim.render.devices import listing
from adreno_sim.render.doctor import text as doctor_text
from adreno_sim.render.failure import formats as failure
from adreno_sim.render.isa import text as isa_text
from adreno_sim.render.launch import encode as launch_json
from adreno_sim.render.launch import html as launch_html
from adreno_sim.render.launch import text as launch_text
from adreno_sim.render.layers import text as layers_text
from adreno_sim.render.memory_scopes import html as scopes_html
from adreno_sim.render.memory_scopes import text as scopes_text
from adreno_sim.render.plan import advice_text, footprint_markdown, footprint_text, svg, trial_text
from adreno_sim.render.plan import html as plan_html
from adreno_sim.render.plan.picture import Picture, scene_of
from adreno_sim.render.precision import text as precision_text
from adreno_sim.render.report import annotations, explain, sarif
from adreno_sim.render.report import html as report_html
from adreno_sim.render.report import text as report_text
from adreno_sim.render.run import html as run_html
from adreno_sim.render.run import text as run_text
from adreno_sim.render.run.launches import show_launches
from adreno_sim.render.session_footprint import html as session_html
from adreno_sim.render.session_footprint import text as session_text
from adreno_sim.render.sweep import findings as sweep_findings
from adreno_sim.render.sweep import markdown as sweep_markdown
from adreno_sim.render.sweep import text as sweep_text
from adreno_sim.render.tuning import text as tuning_text
from adreno_sim.results.encode import report_to_json
from adreno_sim.results.evidence import Evidence
from adreno_sim.results.launch_report import LaunchReport
from adreno_sim.results.machine_code import MachineCodeReport
from adreno_sim.results.model import Report
from adreno_sim.results.plain_text import failure_text, plain
from adreno_sim.results.plan_summary import PlanSummary
from adreno_sim.results.run_encode import run_to_json
from adreno_sim.results.run_report import HostCall, RunReport, with_host_call
from adreno_sim.sweep.case import Case, Outcome, Result
from adreno_sim.sweep.run import Sweep

PITCH_RULE = load("adreno-740")["pitch_rule"]
RULES = DeviceRules.of_profile(load("adreno-740"))


def printed(show: Callable[..., Any], *given: Any, **options: Any) -> str:
    """What `show` prints in a command."""
    out = io.StringIO()
    file: IO[str] = show_on(out)
    show(*given, file, **options)
    return out.getvalue()


def dumped(data: Any) -> str:
    return dump_json(plain_json(data), indent=1)


def finding(text: str) -> Finding:
    stores = [{"order": 1, "value": 1.0, "global_id": (5, 0, 0), "kernel": text, "line": 2, "column": 3, "source": text}]
    found = hold(Finding, text, kind=Kind.DATA_RACE, line=2, column=3, detail={"source": text, "stores": stores})
    made = {"argument": text, "memory": 1, "call": 1, "where": [text]}
    return with_host_call(replace(found, detail={**found.detail, "made": made}), hold(HostCall, text))


def evidence(text: str) -> Evidence:
    """What a page draws, of tensors, kernels and arguments with such names."""
    return hold(Evidence, text, launch="", stores=[(hold(Finding, text), finding(text).detail["stores"])])


def source(text: str) -> str:
    return f"kernel void f() {{\n\t{text}\n}}\n"


def footprint(text: str) -> Footprint:
    """Of tensors with such names, and advice about them."""
    items = [Item(f"{text}{n}", 64 * (n + 1), n, n + 2, alignment=64) for n in range(3)]
    made = measure(Problem(tuple(items), text), RULES, ["naive", "arena"], text)
    tensor = hold(PeakTensor, text, id=f"{text}0", changes=(hold(Change, text, kind="fuse", saves=1),), best=None)
    rows = tuple(replace(row, note=text, violations=(text, text), skipped=text if n else "") for n, row in enumerate(made.rows))
    advice = hold(Advice, text, tensors=(tensor,))
    plan = hold(MemoryPlan, text)
    return replace(made, rows=rows, findings=(finding(text),), advice=advice, command=text, plan=plan)


def machine_code(text: str) -> tuple[KernelCode, ...]:
    """Assembly of as many lines as the text has, each of a line of the source."""
    code = hold(MachineCode, text, lines=(1,) * len(text.splitlines()))
    return (hold(KernelCode, text, rolled=code, unrolled=code),)


def report(text: str) -> Report:
    made = hold(
        Report,
        text,
        findings=[finding(text)],
        sources={text: source(text)},
        plan=hold(PlanSummary, text),
        evidence=evidence(text),
        machine_code=machine_code(text),
    )
    made.stopped = ""
    return made


def launch_report(text: str) -> LaunchReport:
    found = replace(finding(text), file=text)
    return hold(
        LaunchReport,
        text,
        findings=[found],
        source=text,
        text=source(text),
        printed=text,
        arrays=None,
        evidence=evidence(text),
        machine_code=machine_code(text),
    )


def run_report(text: str) -> RunReport:
    made = hold(RunReport, text, findings=[finding(text)], evidence=evidence(text))
    made.processes[0].sources[text] = source(text)
    return made


def sweep_of(text: str) -> Sweep:
    case = hold(Case, text)
    data = {"kind": Kind.DATA_RACE.label, "message": text, "kernel": text, "count": 1, "line": 2, "tensor": text}
    return Sweep(((case, Result(Outcome("failed", 2, text, 1.0), {"findings": [data]}, text)),))


def session_footprint(text: str) -> SessionFootprint:
    row = hold(PlannerResult, text, planner=AS_COMPILED, skipped="", fits=False, violations=())
    made = footprint(text)
    entry = hold(EntryFootprint, text, footprint=replace(made, rows=(row,), allocations=made.allocations[:1]))
    return hold(SessionFootprint, text, rules=RULES, entries=(entry,))


def tune_report(text: str) -> TuneReport:
    numbers = dict.fromkeys(("registers", "waves", "spills", "group_limit"), (1, 2))
    taken = {"chip": text, "by": text, **numbers}
    trials = tuple(hold(CandidateResult, text, time=None, accepted=accepted, register_use=taken) for accepted in (True, False))
    return hold(TuneReport, text, tasks=(hold(TaskReport, text, default_time=None, trials=trials, default_register_use=taken),))


PAGES: dict[str, Callable[[str], str]] = {
    "check": lambda text: report_html.of_report(report(text)),
    "failed launch": lambda text: report_html.of_launch(text, [finding(text)], source(text), text),
    "launch": lambda text: launch_html.of_report(launch_report(text)),
    "run": lambda text: run_html.of_run(run_report(text)),
    "no report": lambda text: failure.to_page(2, text or " ", text),
    "scopes": lambda text: scopes_html.page(hold(ScopeReport, text)),
    "plan": lambda text: plan_html.page(footprint(text), "arena"),
    "session": lambda text: session_html.page(session_footprint(text)),
}
"""Kind of page -> what makes one full of a text."""


def list_json(text: str) -> Iterator[tuple[str, str]]:
    """Name and text of everything that is JSON."""
    yield "check", dumped(report_to_json(report(text)))
    yield "launch", dumped(launch_json.to_json(launch_report(text)))
    yield "machine code", dumped(hold(MachineCodeReport, text).as_json())
    yield "run", dumped(run_to_json(run_report(text)))
    said = [Diagnostic(text, 1, 1, "error", text, text, text)]
    yield "no report", dumped(failure.to_json(2, text or " ", said))
    yield "no report as SARIF", dumped(failure.to_sarif(2, text or " ", said))
    yield "sweep", dumped(sweep_of(text).as_json())
    yield "code quality", dumped(sweep_findings.code_quality(sweep_of(text)))
    yield "footprint", dumped(footprint(text).as_json())
    yield "session", dumped(session_footprint(text).as_json())
    yield "tune", dumped(tune_report(text).as_json())
    yield "doctor", dumped(hold(Examination, text).as_json())
    allowed = hold(RunReport, text, evidence=None).allowed
    for name, found in (("of a file", replace(finding(text), file=text)), ("of a model", replace(finding(text), file=""))):
        yield f"SARIF {name}", dumped(sarif.to_sarif([found], allowed, {text: source(text)}))


def list_texts(text: str) -> Iterator[tuple[str, str]]:
    """Name and text of everything that is printed."""
    yield "check", printed(lambda file: report_text.show(report(text), file, notes=True))
    yield "plain check", plain(report(text))
    yield "failure", failure_text(report(text))
    yield "explained", explain.explain(replace(finding(text), file=text), source(text))
    yield "explained findings", printed(lambda file: explain.show([finding(text)], {text: source(text)}, file))
    yield "launch", printed(launch_text.show, launch_report(text))
    yield "machine code", printed(isa_text.show, hold(MachineCodeReport, text))
    yield "run", printed(run_text.show, run_report(text))
    yield "launches", printed(show_launches, run_report(text))
    yield "sweep", printed(sweep_text.show, sweep_of(text))
    yield "footprint", printed(footprint_text.show, footprint(text))
    yield "advice", printed(advice_text.show, footprint(text))
    yield "difference", printed(footprint_text.show_difference, hold(PlanDifference, text))
    yield "trials", printed(trial_text.show, [hold(DeviceTrial, text)], text)
    yield "session", printed(session_text.show, session_footprint(text))
    yield "scopes", printed(lambda file: scopes_text.show(hold(ScopeReport, text), file, everything=True))
    yield "tune", printed(lambda file: tuning_text.show(tune_report(text), file, everything=True))
    yield "doctor", printed(doctor_text.show, hold(Examination, text))
    yield "precision", printed(precision_text.show, hold(PrecisionReport, text))
    yield "layers", printed(layers_text.show, hold(LayerList, text))
    yield "devices", printed(listing.show, hold(listing.Devices, text))


def list_commands(text: str) -> Iterator[str]:
    """Workflow commands, each of which is one."""
    found = [replace(finding(text), file=text), replace(finding(text), file="")]
    yield from annotations.lines(found)
    yield from annotations.diagnostic_lines([hold(Diagnostic, text, severity="error")])
    yield from sweep_findings.annotation_lines(sweep_of(text))


def list_markdown(text: str, folder: Path) -> Iterator[tuple[str, str]]:
    yield "sweep", sweep_markdown.text(sweep_of(text))
    footprint_markdown.write_markdown(folder / "plan.md", footprint(text), hold(PlanDifference, text))
    yield "footprint", (folder / "plan.md").read_text(encoding="utf-8")
    session_text.write_markdown(folder / "session.md", session_footprint(text))
    yield "session", (folder / "session.md").read_text(encoding="utf-8")


def list_pictures(text: str) -> Iterator[tuple[str, str]]:
    made = footprint(text)
    assert made.allocations[1] is not None
    yield "plan", svg.svg(scene_of(Picture(made.allocations[1], text, text)))
    spec = ImageSpec("image2d", 4, 4)
    yield "layout", layout_svg(layout_of(spec, load("adreno-740"), PITCH_RULE), text)
