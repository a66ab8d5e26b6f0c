"""`adreno-sim footprint`: plans of a model's memory side by side, pictures of one, limits to hold in CI."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.pitch_rules import PITCH_RULES
from ..base.processes import isolation
from . import options as cli_options
from . import session_footprint
from .budget import parse_budget, resolve_budget
from .output import command_line, declare, report_stream

if TYPE_CHECKING:
    from ..compiler.artifact.memory_plan import MemoryPlan
    from ..compiler.artifact.model import CompiledModel
    from ..compiler.plan.compare import PlannerResult
    from ..compiler.plan.footprint import Footprint
    from ..compiler.plan.measured.step_times import StepTimes
    from ..compiler.plan.problem import Problem
    from ..compiler.plan.rules import DeviceRules
    from ..compiler.plan.trial import DeviceTrial
    from ..device.protocol import Device

EXIT_OK, EXIT_FINDINGS = 0, 1

DETAILS = """\
SOURCE is a model (.onnx, .pt2, .py, FILE.py:NAME for a module in it or a function that makes one, .json of tvm.ir.save_json,
.asim), a plan or footprint written before (.json), or a trace of lifetimes and sizes (.csv with columns id,lower,upper,size, or
.json).

planners: naive, tvm, tvm-fixed, relay-1d2d, texture-pool, unified, tflite, tflite-arena, tflite-objects, tflite-size,
tflite-breadth, arena; arena-reordered and arena-onchip, which take a model; and optimal, which all leaves out: it may take
minutes, and needs the extra solver

exit code: 0 ok; 1 the plan over --budget or --max-ratio, or no valid plan; 2 usage or bad input; 3 unsupported
"""

MODEL_OPTIONS = (*cli_options.COMPILE, "--shape")
"""What says how a model is compiled."""

DEFAULT, REORDERED = "tvm,tvm-fixed,arena", "arena-reordered"
"""Planners that are compared where none are named."""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "footprint",
        help="compare memory plans of a model, draw one, hold limits",
        description="Extract the memory plan of a model, let planners place the same tensors, compare their bytes.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", metavar="SOURCE", help="a model, plan or trace")
    parser.add_argument(
        "--planners",
        metavar="NAME,...",
        help=f"planners to compare, or all (default: {DEFAULT}, and of a model {REORDERED})",
    )
    cli_options.add(parser, *cli_options.COMPILE, "--shape")
    parser.add_argument("--device", metavar="DEVICE", help="profile name or device string (default: ADRENO_SIM_DEVICE, ...)")
    parser.add_argument("--pitch-rule", choices=PITCH_RULES, help="row pitch (default: the device's)")
    parser.add_argument(
        "--bound", action="append", default=[], type=_bound, metavar="SYMBOL=LOW:HIGH", help="of an open dimension"
    )
    parser.add_argument("--seconds", type=isolation.seconds, metavar="S", help="for the planner optimal (default: 60)")
    parser.add_argument("--plan", metavar="PLANNER", help="the plan that runs, as in check --plan (default: as compiled)")
    parser.add_argument(
        "--budget",
        type=parse_budget,
        metavar="SIZE",
        help="as 64MB, or `device` for its memory: exit code 1 if the plan that runs takes more device memory at its peak",
    )
    ratio = "as 1.1: exit code 1 if the plan named by --plan, else the smallest one, is above R x bound"
    parser.add_argument("--max-ratio", type=_ratio, metavar="R", help=ratio)
    parser.add_argument("--compare", metavar="OLD.json", help="say which tensors make the difference to an older footprint")
    measure = "also allocate every plan on the device, write it and make its views: what the driver takes and refuses"
    parser.add_argument("--measure", action="store_true", help=measure)
    timed = "also predict how long each step takes on the device, in the order of the plan that runs (docs/time.md)"
    parser.add_argument("--time", action="store_true", help=timed)
    parser.add_argument("--markdown", metavar="FILE", help="write the comparison as Markdown tables, with --compare the change")
    parser.add_argument("--json", metavar="FILE", help="write the figures and the plan (- = standard output)")
    parser.add_argument("--plan-json", metavar="FILE", help="write the plan that --draw names; check --plan runs it")
    parser.add_argument("--draw", metavar="PLANNER", help="the plan to draw or write (default: the smallest)")
    parser.add_argument("--html", metavar="FILE", help="one page: memory over time, every tensor, every planner")
    parser.add_argument("--svg", metavar="FILE", help="the picture alone")
    parser.add_argument("--png", metavar="FILE", help="the picture as pixels (needs Pillow)")
    session_footprint.add_arguments(parser)
    outputs = ("--json", "--markdown", "--plan-json", "--html", "--svg", "--png")
    declare(parser, outputs, ("source", "--compare"))
    parser.set_defaults(run=_footprint)


def _ratio(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of 1 or more, as 1.1")
    return value


def _bound(text: str) -> tuple[str, tuple[int, int]]:
    match = re.fullmatch(r"(.+)=(\d+):(\d+)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r}: expected SYMBOL=LOW:HIGH, as n=1:8")
    return match[1], (int(match[2]), int(match[3]))


def _footprint(args: argparse.Namespace) -> int:
    from ..base.errors import AdrenoSimError
    from ..compiler.importers.module_file import find_module
    from ..compiler.plan.difference import read_old
    from ..compiler.plan.footprint import is_model, measure, planner_names
    from ..compiler.plan.graphs import graph_plans
    from ..compiler.plan.replan import AS_COMPILED
    from ..compiler.session_footprint.of_module import has_entries

    module = find_module(args.source) if is_model(args.source) else None
    if module is not None and has_entries(module, args.entry or ""):
        return session_footprint.run(args, module)
    cli_options.refuse(args, session_footprint.LENGTHS, "is for a module with several functions, or one that keeps state")
    names = planner_names(args.planners or (f"{DEFAULT},{REORDERED}" if is_model(args.source) else DEFAULT))
    if args.plan is not None and args.plan not in (*names, AS_COMPILED):
        names += [args.plan] if args.plan.endswith(".json") else planner_names(args.plan)
    if args.draw is not None and args.draw not in (*names, AS_COMPILED):
        raise AdrenoSimError(f"--draw {args.draw}: expected one of the planners compared: {', '.join(names)}")
    if "optimal" not in names:
        cli_options.refuse(args, ("--seconds",), "is for the planner optimal, which --planners does not name")
    if not (args.plan_json or args.html or args.svg or args.png):
        cli_options.refuse(args, ("--draw",), "is for --html, --svg, --png and --plan-json, and none of these is given")
    old = read_old(args.compare) if args.compare else None
    rules = _rules(args)
    resolve_budget(args, rules)
    options = {"optimal": {"seconds": args.seconds}} if args.seconds else {}
    source, model = _source(args, rules, module)
    graphs = () if model is None else graph_plans(model, rules.ml)
    footprint = measure(source, rules, names, Path(args.source).name, options, graphs, model)
    if footprint.plan is not None:
        from ..compiler.plan.advice.advice import advise

        command = "" if model is None else _check_command(args)
        footprint = replace(footprint, advice=advise(footprint.plan, rules), command=command)
    trials = _measure(footprint, args, model, rules) if args.measure else []
    times = _time(footprint, args, model, rules) if args.time else None
    _write(footprint, args, trials, times)
    failures = _list_failures(footprint, args, trials)
    _show(footprint, args, old, trials, times, failures)
    for failure in failures:
        print(f"failed: {failure}", file=report_stream(args))
    return EXIT_FINDINGS if failures else EXIT_OK


def _check_command(args: argparse.Namespace) -> str:
    """The command line of `check` for the model, compiled for the device as the options given here say."""
    kept, words = [], iter(args.argv[1:])
    for word in words:
        if word.partition("=")[0] in MODEL_OPTIONS:
            kept += [word] if "=" in word else [word, next(words)]
    said = " ".join(kept)
    for name, shape in args.shape or ():  # of the upper ends of --bound
        text = f"{name}={'x'.join(map(str, shape))}"
        kept += [] if text in said else ["--shape", text]
    device = [] if args.device is None else ["--device", _device_string(args.device)]
    return shlex.join(["adreno-sim", "check", args.source, *kept, *device])


def _measure(
    footprint: Footprint, args: argparse.Namespace, model: CompiledModel | None, rules: DeviceRules
) -> list[DeviceTrial]:
    """Every plan tried on the device, one after the other, each on a device that was opened for it; and the model run with it."""
    from ..base.errors import AdrenoSimError
    from ..compiler.plan.measured.peak import measure_peak
    from ..compiler.plan.trial import try_plan

    options = {} if args.pitch_rule is None else {"pitch_rule": args.pitch_rule}
    trials = []
    for allocation in filter(None, footprint.allocations):
        trial = try_plan(footprint.plan_with(allocation), _device(args, **options), allocation.planner)
        if model is not None:
            try:
                device = _device(args, **options)
                trial = replace(trial, peak=measure_peak(model, allocation, rules, device))
            except AdrenoSimError as error:
                trial = replace(trial, not_run=str(error).splitlines()[0])
        trials.append(trial)
    return trials


def _time(footprint: Footprint, args: argparse.Namespace, model: CompiledModel | None, rules: DeviceRules) -> StepTimes:
    """The steps of the plan that runs. AdrenoSimError for a plan or a trace."""
    from ..base.errors import OptionError
    from ..compiler.plan.measured.step_times import time_steps
    from ..compiler.plan.replan import AS_COMPILED

    if model is None:
        raise OptionError("--time", f"is for models; {args.source} has only tensors")
    options = {} if rules.profile is None else {"checks": "off"}
    return time_steps(model, footprint.of(args.plan or AS_COMPILED), rules, _device(args, **options))


def _device(args: argparse.Namespace, **options: Any) -> Device:
    from ..backends.open import open_device

    return open_device(None if args.device is None else _device_string(args.device), **options)


def _device_string(text: str) -> str:
    """The string of a device; of a profile, that of the simulator."""
    return text if text.partition(":")[0] in ("sim", "cl") else f"sim:{text}"


def _rules(args: argparse.Namespace) -> DeviceRules:
    from ..base.errors import AdrenoSimError
    from ..compiler.plan.rules import DeviceRules

    rules = DeviceRules.of_device(_device(args))
    if args.pitch_rule is None:
        return rules
    if rules.profile is None:
        raise AdrenoSimError(f"--pitch-rule {args.pitch_rule}: {rules.device} is a real device, which has its own")
    return DeviceRules.of_profile(rules.profile, args.pitch_rule)


def _source(args: argparse.Namespace, rules: DeviceRules, module: Any) -> tuple[MemoryPlan | Problem, CompiledModel | None]:
    """What is to be placed: read from a plan or trace, else extracted from the compiled model, which comes along."""
    from ..compiler.plan.chip.planner import recordable_plan
    from ..compiler.plan.extract import extract_bounded, extract_plan
    from ..compiler.plan.footprint import read_source
    from ..compiler.plan.graph_tensors import with_graph_tensors
    from ..compiler.plan.problem import Problem

    given = read_source(args.source)
    if given is not None:
        kind = "trace" if isinstance(given, Problem) else "plan"
        cli_options.refuse(
            args, (*MODEL_OPTIONS, "--bound"), f"is for models; {args.source} is a {kind}, whose tensors are known"
        )
        if isinstance(given, Problem):
            cli_options.refuse(
                args, ("--pitch-rule",), f"is for tensors with shapes; {args.source} is a trace, which gives sizes"
            )
        return given, None
    if args.bound and module is None and args.source.endswith(".onnx"):
        return _at_upper_end(args, rules)
    model = with_graph_tensors(_model(args, rules, module), rules.ml)
    symbolic = any(isinstance(dim, str) for info in model.inputs for dim in info.shape)
    if symbolic or args.bound:
        return extract_bounded(model, dict(args.bound)), model
    plan = extract_plan(model)
    return plan if plan.on_chip else recordable_plan(model), model  # those of a plan that uses the chip are its own


def _at_upper_end(args: argparse.Namespace, rules: DeviceRules) -> tuple[MemoryPlan, CompiledModel]:
    """The plan of an ONNX model at the upper ends of its open dimensions, with the totals at the lower ones; and the model there.

    The options of `args` have the shapes of the upper ends from then on: the plan is for these.
    """
    from ..compiler.importers.open_dimensions import open_inputs
    from ..compiler.plan.extract import extract_plan, ranges_of, sizes_at_ends
    from ..compiler.plan.graph_tensors import with_graph_tensors

    given = list(args.shape or [])
    inputs = open_inputs(Path(args.source), dict(given))
    ranges = ranges_of(inputs.symbols, dict(args.bound))
    models = []
    for sizes in sizes_at_ends(ranges):
        args.shape = [*given, *inputs.at(sizes).items()]
        models.append(_model(args, rules, None))
    low, high = (with_graph_tensors(model, rules.ml) for model in models)
    return replace(extract_plan(high), symbols=ranges, least=extract_plan(low).summary), high


def _model(args: argparse.Namespace, rules: DeviceRules, module: Any) -> CompiledModel:
    """The model compiled for the device, `module` where the source is a file with one; a bundle unchanged."""
    from ..compiler.compile import compile_model

    options = cli_options.given_options(args, *MODEL_OPTIONS)
    source = args.source if module is None else module
    model = compile_model(source, limits=rules.limits, ml=rules.ml, **options)
    return model if module is None else replace(model, name=Path(args.source).stem)


def _json(footprint: Footprint, trials: Sequence[DeviceTrial], times: StepTimes | None) -> dict[str, Any]:
    from ..results.time_report import time_to_json

    measured = {"measured": [asdict(trial) for trial in trials]} if trials else {}
    timed = {} if times is None else {"time": time_to_json(times.report), "memory": list(times.memory.values())}
    return footprint.as_json() | measured | timed


def _write(footprint: Footprint, args: argparse.Namespace, trials: Sequence[DeviceTrial], times: StepTimes | None) -> None:
    from ..base.json_io import plain_json, write_json

    if args.json and args.json != "-":
        write_json(args.json, plain_json(_json(footprint, trials, times)))
    chosen = footprint.of(args.draw) if args.draw else footprint.smallest
    if not (args.plan_json or args.html or args.svg or args.png):
        return
    from ..base.errors import AdrenoSimError

    if chosen is None:
        raise AdrenoSimError("there is no valid plan to write or draw")
    if args.plan_json:
        from ..compiler.plan.plan_file import write_plan

        write_plan(args.plan_json, footprint.plan_with(chosen))
    if args.html or args.svg or args.png:
        from ..render.plan import html, png, svg
        from ..render.plan.picture import Picture

        picture = Picture(chosen, footprint.source, footprint.rule)
        if args.svg:
            svg.write_svg(args.svg, picture)
        if args.png:
            png.write_png(args.png, picture)
        if args.html:
            html.write_html(args.html, footprint, args.draw or footprint.rows[0].planner, command_line(args))


def _show(
    footprint: Footprint,
    args: argparse.Namespace,
    old: Any,
    trials: Sequence[DeviceTrial],
    times: StepTimes | None,
    failures: Sequence[str],
) -> None:
    from ..base import json_io
    from ..compiler.plan.difference import difference
    from ..render.plan import advice_text, footprint_markdown, footprint_text

    change = None if old is None else difference(old, footprint)
    if args.markdown:
        footprint_markdown.write_markdown(args.markdown, footprint, change, failures)
    file = report_stream(args)
    footprint_text.show(footprint, file, args.budget)
    advice_text.show(footprint, file)
    if change is not None:
        footprint_text.show_difference(change, file)
    if trials:
        from ..render.plan import trial_text

        trial_text.show(trials, _device(args).info.name, file)
    if times is not None:
        from ..compiler.plan.replan import AS_COMPILED
        from ..render.plan import step_text

        step_text.show(times, args.plan or AS_COMPILED, file)
    if args.json == "-":
        json_io.print_json(json_io.plain_json(_json(footprint, trials, times)), sys.stdout)


def _list_failures(footprint: Footprint, args: argparse.Namespace, trials: Sequence[DeviceTrial]) -> list[str]:
    """Which limits are exceeded. The budget holds for the plan that runs: that of --plan, else as compiled; of a trace, which has
    none, the smallest that is valid and fits the device, as does the ratio without --plan.

    A plan that should fit, and that the device refused when it was tried, is a failure too.
    """
    from ..compiler.plan.replan import AS_COMPILED

    ok = [row for row in footprint.rows if not row.skipped and not row.violations and row.fits]
    best = min((row for row in ok if row.planner != AS_COMPILED), key=lambda row: row.total, default=None)
    chosen = next((row for row in footprint.rows if row.planner == args.plan), best)
    runs = chosen if args.plan else next((row for row in footprint.rows if row.planner == AS_COMPILED), best)
    failures = []
    if best is None:
        failures.append("no planner gave a valid plan that fits the device")
    if args.plan and chosen not in ok:
        assert chosen is not None
        failures.append(
            f"{chosen.planner}: no valid plan that fits the device: {chosen.skipped or chosen.note or chosen.violations[0]}"
        )
    elif args.budget is not None and runs is not None and runs.on_device > args.budget:
        failures.append(
            f"{runs.planner}: {runs.on_device:,} bytes{'' if runs.peak == 0 else ' at the peak'}, above the budget of "
            f"{args.budget:,}{_smaller(ok, runs, footprint)}"
        )
    if args.max_ratio is not None and chosen is not None and not chosen.skipped and chosen.ratio > args.max_ratio:
        failures.append(f"{chosen.planner}: {chosen.ratio:.3f} times the lower bound, above {args.max_ratio:g}")
    good = {row.planner for row in ok}
    return failures + [
        f"{t.planner}: refused by the device: {t.planner_refusals[0].message}"
        for t in trials
        if t.planner_refusals and t.planner in good
    ]


def _smaller(rows: Sequence[PlannerResult], runs: PlannerResult, footprint: Footprint) -> str:
    """What to do about a plan over the budget, where a planner does better."""
    best = min(rows, key=lambda row: row.on_device, default=runs)
    if best.on_device >= runs.on_device:
        return ""
    how = f"; --plan {best.planner} runs it" if footprint.plan is not None else ""
    return f" ({best.planner} takes {best.on_device:,}{how})"
