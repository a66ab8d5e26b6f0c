"""`adreno-sim tune`: search schedules for a model's convolutions and matrix products, each checked on the simulator."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from . import cache, options
from .output import declare, report_stream, write_data

EXIT_OK, EXIT_FINDINGS = 0, 1

DETAILS = """\
Every candidate is compiled, compared with the device's limits, run on the simulated device with its accesses checked, and
compared with TVM llvm. What fails is rejected with its reason. With --device cl:... the right ones are also run and timed
there, by the device's own clock; without, predicted times rank them (docs/time.md, docs/tuning.md).

DIR holds a MetaSchedule database and a journal of all candidates. The same command goes on where it was ended, until each
task has --trials candidates. `adreno-sim check MODEL --tuned DIR` compiles with what was found.

--seed decides which candidates are tried: with a simulated device, a new folder, as many trials and the same TVM, the same ones
in the same order. A run that continues an ended run generates new candidates, and a real device's clock steers the search by
times that vary.

exit code: 0 every task has an accepted candidate; 1 one has none; 2 usage or bad input; 3 unsupported
"""


FLAGS = ("--target", "--pipeline", "--without-fix", "--rule", "--weights", "--shape", "--input-value", "--seed")
"""Options that other commands have, too."""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "tune",
        help="search schedules with textures, every candidate checked on the simulator",
        description="Tune a model's convolutions and matrix products with MetaSchedule.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a model (.onnx, .pt2, .py)")
    parser.add_argument("--db", metavar="DIR", required=True, help="folder of the database (new, or of an earlier run)")
    parser.add_argument("--trials", type=int, default=64, metavar="N", help="candidates of each task in all (default: 64)")
    parser.add_argument("--only", metavar="NAME,...", default="", help="tune functions with these in their names only")
    device = "as of check; a real one (cl:...) times candidates (default: ADRENO_SIM_DEVICE, else sim:adreno-740)"
    parser.add_argument("--device", metavar="DEVICE", help=device)
    parser.add_argument(
        "--check-on", metavar="DEVICE", help="with a real device: the simulated one that checks (default: sim:adreno-740)"
    )
    seed = "of the search, and of weights and inputs that are not given (default: 0)"
    isa = "also show registers, waves and spills of the best candidates on the device's chip: by Mesa (extra isa), else estimated"
    options.add(parser, *FLAGS, "--isa", seed=seed, isa=isa)
    parser.add_argument("--all", action="store_true", help="list every candidate, not only the best and the rejected ones")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON (- = standard output)")
    cache.add_option(parser)
    declare(parser, ("--json",), ("model",))
    parser.set_defaults(run=_tune)


def _tune(args: argparse.Namespace) -> int:
    from ..compiler.schedule_search.search import tune
    from ..render.tuning import text

    only = tuple(name for name in args.only.split(",") if name)
    report = tune(
        args.model, args.db, trials=args.trials, device=args.device, check_on=args.check_on, only=only,
        **options.given_options(args, *FLAGS),
        isa=args.isa, step=_print_trial,
    )  # fmt: skip
    write_data(args, report.as_json)
    text.show(report, report_stream(args), args.all)
    return EXIT_OK if report.ok else EXIT_FINDINGS


def _print_trial(task: Any, trial: Any) -> None:
    from ..base.text.spelling import spell_line
    from ..base.text.stream import styled

    verdict = "ok" if trial.accepted else trial.reason
    line = spell_line(f"{task.name} {trial.number}: {trial.variant}: {verdict}")[:160]
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=styled(sys.stderr), flush=True)
    else:
        print(line, file=sys.stderr, flush=True)
