"""`adreno-sim replay`: run what `adreno-sim run --record` recorded again, without the program."""

from __future__ import annotations

import argparse
import zipfile
from typing import TYPE_CHECKING, Any

from . import cache, options
from .output import add_outputs, declare
from .run import read_allow_list, write_report

if TYPE_CHECKING:
    from ..device.protocol import Device
    from ..icd.settings import Settings
    from ..icd.trace.archive import Session, Trace
    from ..results.run_report import ProcessReport

DETAILS = """\
The file holds sources, arguments and data of every launch: a whole bug report. On the simulated device the same findings arise
again; name another with --device sim:PROFILE, or look closer with --checks full.

    adreno-sim run --record trace.asim -- ./a_program
    adreno-sim replay trace.asim --checks full
    adreno-sim replay trace.asim --device cl:0        # each launch also on a real device, from the same memory

With --device cl:... what a launch leaves there is compared with what it leaves on the recorded simulated device: integers
exactly, floats within the tolerance of their type. A difference is a finding of the real device, at the launch that made it.

exit code: 0 ok; 1 findings, with --strict also warnings; 2 usage, or a file that is no recording; 3 something unsupported
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "replay",
        help="run a recording of adreno-sim run --record again",
        description="Run the launches of a recorded program again, on the simulated device or beside it on a real one.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("trace", metavar="FILE", help="what adreno-sim run --record wrote")
    parser.add_argument("--device", metavar="DEVICE", help="sim:PROFILE[,key=value...] or cl:... (default: the recorded device)")
    parser.add_argument(
        "--checks", choices=("off", "bounds", "full"), help="how closely accesses are watched (default: as recorded)"
    )
    options.add(parser, "--seed", seed="of the order of work-items at level full, and of fresh memory (default: as recorded)")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument(
        "--allow", metavar="FILE", help="allow-list (default: the nearest adreno-sim.toml or pyproject.toml that has one)"
    )
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- = standard output)")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page")
    add_outputs(parser)
    cache.add_option(parser)
    declare(parser, ("--json", "--sarif", "--html"), ("trace", "--allow"))
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from ..icd.trace.archive import open_trace
    from ..results.run_report import make_run_report

    allow = read_allow_list(args.allow)
    with open_trace(args.trace) as (trace, archive):
        settings, counterpart = _devices_of(args, trace)
        processes = [_play(archive, session, settings, counterpart, args.trace) for session in trace.sessions]
    report = make_run_report(
        trace.command, settings.device, settings.checks or trace.checks, 0, processes, allow=allow, strict=args.strict
    )
    write_report(args, report, "replay")
    return report.exit_code


def _devices_of(args: argparse.Namespace, trace: Trace) -> tuple[Settings, Device | None]:
    """What the simulated device is opened with, and the real one beside it. OptionError for a device that cannot be."""
    from ..backends.open import open_device
    from ..backends.sim.open import read_device
    from ..icd.settings import Settings

    backend, _, rest = (args.device or trace.device).partition(":")
    real = None
    if backend != "sim":
        real = open_device(args.device)
        rest = trace.device.partition(":")[2]
    if args.seed is not None:
        rest += f",seed={args.seed}"
    checks = args.checks or trace.checks
    options.refuse_counters(read_device(rest, checks=checks)[1])
    return Settings(f"sim:{rest}", checks, "", False), real


def _play(archive: zipfile.ZipFile, session: Session, settings: Settings, real: Device | None, file: str) -> ProcessReport:
    """Play one session on devices of its own. AdrenoSimError where it is damaged."""
    from ..base.errors import AdrenoSimError
    from ..icd.trace.archive import open_session
    from ..icd.trace.player import play_session

    try:
        with open_session(archive, session) as stream:
            return play_session(stream, session, settings, real)
    except ValueError as error:
        raise AdrenoSimError(f"{file}: {session.member}: {error}") from None
