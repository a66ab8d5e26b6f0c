"""`adreno-sim sweep`: many models on many devices, resumable, each check in a separate process."""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.bundle_name import is_bundle_name
from ..base.processes import isolation
from ..base.text.stream import print_commands
from . import cache, options
from .output import declare, report_stream, write_data

if TYPE_CHECKING:
    from ..sweep.run import Sweep

COMPILE = ("--pipeline", "--without-fix", "--dtype", "--accumulate", "--rule", "--weights")
"""What says how every model is compiled."""

DETAILS = """\
Every model is checked on every device for every target, each in a separate process: one that crashes or hangs is a line
of the table. Results are in a folder (--results); run again after a kill, the sweep continues where it stopped. A case is done
again where its model, options, or the version of adreno-sim or TVM changed. A bundle (.asim) has its own target, and is one
case for each device; options that say how to compile are refused where one is among the models.

exit code: that of the worst case: 1 findings, crashes, time-outs; 2 bad input; 3 unsupported; 0 ok
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "sweep",
        help="check many models on many devices at once, resumable",
        description="Check every model on every device for every target.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("models", nargs="+", metavar="MODEL", help="models (.onnx, .pt2, .py, .asim)")
    devices = "profiles by name or pattern ('adreno-7*'), or device strings (default: ADRENO_SIM_DEVICE, else adreno-740)"
    parser.add_argument("--profiles", "--devices", nargs="+", default=[], metavar="DEVICE", help=devices)
    parser.add_argument("--targets", nargs="+", default=[], metavar="TARGET", help="as of check, several (default: texture)")
    jobs = "checks at a time on this machine (default: half its processors)"
    parser.add_argument("--jobs", type=_count, metavar="N", help=jobs)
    parser.add_argument("--scheduler", default="", metavar="ADDRESS", help="run on the workers of this Dask scheduler")
    parser.add_argument("--results", default="adreno-sweep", metavar="FOLDER", help="default: adreno-sweep")
    parser.add_argument("--fresh", action="store_true", help="run every case, also those done before")
    parser.add_argument("--retry", action="store_true", help="run cases once more whose process crashed, hung or broke")
    parser.add_argument("--json", metavar="FILE", help="write the table as JSON (- = standard output)")
    parser.add_argument("--sarif", metavar="FILE", help="write the findings as SARIF 2.1.0, at the models' files")
    parser.add_argument("--code-quality", metavar="FILE", help="write the findings as GitLab's Code Quality report")
    parser.add_argument("--markdown", metavar="FILE", help="write the table as Markdown")
    parser.add_argument("--annotations", action="store_true", help="print the findings as ::error file=,line=:: lines")
    limit = f"seconds for each case (default: {isolation.DEFAULT_LIMIT:g})"
    parser.add_argument("--time-limit", type=isolation.seconds, default=isolation.DEFAULT_LIMIT, metavar="S", help=limit)
    options.add(parser, *COMPILE, "--seed", seed=options.SEED_OF_RUNS)
    parser.add_argument("--checks", choices=("off", "bounds", "full"), help="as of check (default: bounds)")
    options.add(parser, "--time", "--max-time")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    cache.add_option(parser)
    declare(parser, ("--json", "--sarif", "--code-quality", "--markdown"), ("models", "--profiles"))
    parser.set_defaults(run=_sweep)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of 1 or more")
    return int(text)


def _require_packages(args: argparse.Namespace) -> None:
    """Raises MissingPackageError before anything runs: here for what runs here, for Dask alone where its workers do."""
    from ..base.installed.extras import require

    if args.scheduler:
        require("distributed")
        return
    models = [model for model in args.models if not is_bundle_name(model)]
    if any(model.endswith(".onnx") for model in models):
        require("onnx")
    if models:
        require("tvm")


def _sweep(args: argparse.Namespace) -> int:
    from ..compiler.lower.compile_options import CompileOptions
    from ..render.sweep import text as sweep_text
    from ..sweep.case import cases
    from ..sweep.run import sweep
    from ..sweep.store import ResultStore

    _require_packages(args)
    if args.scheduler:
        options.refuse(args, ("--jobs",), "is for this machine; a Dask scheduler runs as many as its workers have threads")
        options.refuse(args, ("--no-cache",), "is for this machine; set ADRENO_SIM_CACHE=off where the workers run")
    devices = devices_of(args.profiles)
    _refuse(args, devices)
    todo = cases(args.models, devices, _targets(args.targets) or [str(CompileOptions().target)], _options(args))
    done = sweep(
        todo,
        ResultStore(Path(args.results)),
        limit=args.time_limit,
        jobs=args.jobs or max(1, len(os.sched_getaffinity(0)) // 2),
        scheduler=args.scheduler,
        fresh=args.fresh,
        retry=args.retry,
        told=lambda case, result: print(sweep_text.line(case, result), file=sys.stderr, flush=True),
    )
    sweep_text.show(done, report_stream(args))
    _write(done, args)
    return done.exit_code


def _write(done: Sweep, args: argparse.Namespace) -> None:
    """Write the sweep to every file that the options name."""
    from ..base import json_io, output_file
    from ..render.report import sarif
    from ..render.sweep import findings, markdown

    write_data(args, done.as_json)
    if args.annotations:
        print_commands(findings.annotation_lines(done), report_stream(args))
    if args.sarif:
        json_io.write_json(args.sarif, sarif.to_sarif(findings.findings(done), checks=done.lowest_level))
    if args.code_quality:
        json_io.write_json(args.code_quality, findings.code_quality(done))
    if args.markdown:
        output_file.write_text(args.markdown, markdown.text(done))


def _refuse(args: argparse.Namespace, devices: Iterable[str]) -> None:
    """Say before the first case what no case, or not every one, could heed."""
    from ..base.errors import OptionError
    from ..compiler.lower.compile_options import CompileOptions

    if args.fresh:
        options.refuse(args, ("--retry",), "runs some cases once more, and --fresh every one")
    bundles = [model for model in args.models if is_bundle_name(model)]
    for model in bundles[:1]:
        options.refuse(args, COMPILE, f"{model} is compiled already; sweep bundles apart from models")
    if len(bundles) == len(args.models):
        options.refuse(args, ("--targets",), "every model is a bundle, compiled already")
    for target in _targets(args.targets) or [""]:
        CompileOptions.of({**options.given_options(args, *COMPILE), "target": target or None}, None)
    for device in devices if args.checks not in (None, "off") else ():
        if device.partition(":")[0] == "cl":
            raise OptionError("checks", f"{args.checks}: {device} is a real device, which does not check accesses")


def _options(args: argparse.Namespace) -> list[str]:
    """Those of `check`, for every case."""
    given = options.arguments(args, *COMPILE, "--seed", "--checks") + (["--strict"] if args.strict else [])
    if not args.time:
        options.refuse(args, ("--max-time",), "is for predicted times: it needs --time")
        return given
    limit = [] if args.max_time is None else ["--max-time", f"{args.max_time * 1e6:.6f}us"]
    return [*given, "--time", *limit]


def devices_of(texts: Iterable[str]) -> list[str]:
    """Device strings from profiles, patterns of them, and device strings; each once.

    Raises AdrenoSimError for an unknown profile, and for a pattern that none fits.
    """
    from ..base.trust.device_string import default_device
    from ..profiles import profile
    from ..profiles.user_profile import load_profile

    found: dict[str, None] = {}
    for text in _split(texts):
        backend, _, rest = text.partition(":")
        if backend == "cl":
            found[text] = None
            continue
        name, comma, keys = (rest if backend == "sim" else text).partition(",")
        known_names = (*profile.names(), *profile.phones())
        names = profile.names() if name == "all" else fnmatch.filter(known_names, name)
        if not names:
            load_profile(name)  # a user's file, or an error that says what there is
        found.update(dict.fromkeys(f"sim:{known}{comma}{keys}" for known in names or [name]))
    return list(found) or [default_device()]


def _targets(texts: Iterable[str]) -> list[str]:
    """Targets from lists with commas; JSON is one target, commas and all."""
    return [one for text in texts for one in ([text] if text.lstrip().startswith("{") else _split([text]))]


def _split(texts: Iterable[str]) -> list[str]:
    """Items of lists with commas; KEY=VALUE belongs to the device string before it."""
    items: list[str] = []
    for text in texts:
        for part in filter(None, text.split(",")):
            if "=" in part and items:
                items[-1] += f",{part}"
            else:
                items.append(part)
    return items
