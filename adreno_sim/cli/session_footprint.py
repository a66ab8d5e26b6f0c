"""`adreno-sim footprint` of a module with several functions: what it takes of a device's memory at its worst moment."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import options as cli_options
from .budget import resolve_budget
from .output import command_line, report_stream

if TYPE_CHECKING:
    from ..compiler.session_footprint.measure import SessionFootprint

EXIT_OK, EXIT_FINDINGS = 0, 1

LENGTHS = ("--context", "--batch", "--chunk", "--page-size", "--kv-cache")
"""Options that are for such modules alone."""

OF_ONE_PLAN = (
    "--max-ratio", "--compare", "--measure", "--plan-json", "--draw", "--svg", "--png", "--seconds",
    "--shape", "--dtype", "--accumulate", "--recast", "--layout", "--skip-layers", "--clml-min-flops", "--clml-min-operators",
    "--tuned", "--input-value", "--time",
)  # fmt: skip
"""Options of the command that are for one function."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Register the options that say how long and how many."""
    group = parser.add_argument_group("language models (a module with several functions)")
    group.add_argument("--context", type=_size, metavar="N", help="positions of a sequence")
    group.add_argument("--batch", type=_size, metavar="N", help="sequences at one time (default: 1)")
    group.add_argument("--chunk", type=_size, metavar="N", help="most tokens of one call (default: the context)")
    group.add_argument("--page-size", type=_size, metavar="N", help="positions in a page of the KV cache (default: 16)")
    told = "where no function creates it: layers=N,heads=N,kv-heads=N,dim=N[,dtype=float16]"
    group.add_argument("--kv-cache", metavar="SIZES", help=told)


def _size(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 1 to 2^31 - 1")
    return int(text)


def run(args: argparse.Namespace, module: Any) -> int:
    """Measure, show, write and judge as the command line says. Exit code."""
    from ..compiler.session_footprint.of_module import session_footprint

    cli_options.refuse(args, OF_ONE_PLAN, "is for one function; this module has several: name one that takes tensors (--entry)")
    planners = _planners(args)
    device = args.device if args.device is None or args.device.partition(":")[0] in ("sim", "cl") else f"sim:{args.device}"
    if args.pitch_rule is not None:
        from ..backends.open import open_device

        device = open_device(device, pitch_rule=args.pitch_rule)
    given = {"context": args.context, "batch": args.batch, "chunk": args.chunk, "page_size": args.page_size}
    footprint = session_footprint(
        module,
        device=device,
        bounds=dict(args.bound),
        kv_cache=args.kv_cache,
        entries=tuple(filter(None, (args.entry or "").split(","))),
        planners=planners,
        name=Path(args.source).name,
        **{name: value for name, value in given.items() if value is not None},
        **cli_options.given_options(args, "--target", "--pipeline", "--without-fix", "--rule", "--weights"),
    )
    resolve_budget(args, footprint.rules)
    _write(footprint, args)
    return _judge(footprint, args)


def _planners(args: argparse.Namespace) -> list[str]:
    from ..compiler.plan.footprint import planner_names
    from ..compiler.plan.replan import AS_COMPILED
    from ..compiler.session_footprint.of_module import PLANNERS

    names = planner_names(args.planners or ",".join(PLANNERS))
    if args.plan is not None and args.plan not in (*names, AS_COMPILED):
        names += planner_names(args.plan)
    return names


def _write(footprint: SessionFootprint, args: argparse.Namespace) -> None:
    from ..base.json_io import plain_json, print_json, write_json
    from ..render.session_footprint import html, text

    if args.json and args.json != "-":
        write_json(args.json, plain_json(footprint.as_json()))
    if args.html:
        html.write_html(args.html, footprint, command_line(args))
    if args.markdown:
        text.write_markdown(args.markdown, footprint)
    text.show(footprint, report_stream(args))
    if args.json == "-":
        print_json(plain_json(footprint.as_json()), sys.stdout)


def _judge(footprint: SessionFootprint, args: argparse.Namespace) -> int:
    """Exit code: the budget holds for everything on the device at the worst moment, under the plan that runs."""
    from ..base.errors import AdrenoSimError
    from ..compiler.plan.replan import AS_COMPILED

    plan = args.plan or AS_COMPILED
    if plan not in footprint.planners():
        row = next(row for entry in footprint.entries for row in entry.footprint.rows if row.planner == plan and row.skipped)
        raise AdrenoSimError(f"--plan {plan}: {row.skipped}")
    failures = footprint.obstacles(plan)
    peak, best = footprint.peak(plan), footprint.best()
    if args.budget is not None and peak > args.budget:
        less = f" ({best} takes {footprint.peak(best):,})" if footprint.peak(best) < peak else ""
        failures.append(f"{plan}: {peak:,} bytes in {footprint.worst(plan).name}, above the budget of {args.budget:,}{less}")
    for failure in failures:
        print(f"failed: {failure}", file=report_stream(args))
    return EXIT_FINDINGS if failures else EXIT_OK
