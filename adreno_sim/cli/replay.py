"""`adreno-sim replay`: run what `adreno-sim run --record` recorded again, without the program."""

from __future__ import annotations

import argparse
import zipfile
from typing import TYPE_CHECKING, Any

from ..base.processes.isolation import DEFAULT_LIMIT as LIMIT
from ..base.processes.isolation import seconds
from . import cache, options
from .output import add_outputs, declare
from .run import read_allow_list, write_report

if TYPE_CHECKING:
    from ..device.protocol import Device
    from ..icd.settings import Settings
    from ..icd.trace.archive import Session, Trace
    from ..icd.trace.outcomes import Outcomes
    from ..icd.trace.time_limit import TimeLimit
    from ..results.run_report import ProcessReport

DETAILS = """\
The file holds sources, arguments and data of every launch: a whole bug report. On the simulated device the same findings arise
again; name another with --device sim:PROFILE, or look closer with --checks full.

    adreno-sim run --record trace.asim -- ./a_program
    adreno-sim replay trace.asim --checks full
    adreno-sim replay trace.asim --device cl:0        # each launch also on a real device, from the same memory

With --device cl:... what a launch leaves there is compared with what it leaves on the recorded simulated device: integers
exactly, floats within the tolerance of their type. A difference is a finding of the real device, at the launch that made it.

exit code: 0 ok; 1 findings, with --strict also warnings; 2 usage, a file that is no recording, one of which nothing builds or
runs, that takes longer than --time-limit, or calls that end otherwise than they were recorded; 3 something unsupported
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
        "--checks", choices=("off", "bounds", "full"), help="how closely accesses are watched (default: as recorded, not off)"
    )
    options.add(parser, "--seed", seed="of the order of work-items at level full, and of fresh memory (default: as recorded)")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument(
        "--allow", metavar="FILE", help="allow-list (default: the nearest adreno-sim.toml or pyproject.toml that has one)"
    )
    limit = f"seconds for the whole recording, whatever it asks for; a launch that runs then still ends (default: {LIMIT:g})"
    parser.add_argument("--time-limit", type=seconds, default=LIMIT, metavar="S", help=limit)
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- = standard output)")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page")
    add_outputs(parser)
    cache.add_option(parser)
    declare(parser, ("--json", "--sarif", "--html"), ("trace", "--allow"))
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from ..icd.trace.archive import open_trace
    from ..icd.trace.outcomes import find_idle
    from ..icd.trace.replay_settings import choose_settings
    from ..icd.trace.time_limit import TimeLimit
    from ..results.run_report import make_run_report

    allow = read_allow_list(args.allow)
    with open_trace(args.trace) as (trace, archive):
        named = args.device if _names_simulated(args.device) else None
        settings, chosen, notes = choose_settings(trace, args.trace, named, checks=args.checks, seed=args.seed)
        options.refuse_counters(chosen)
        counterpart = _real_device(args)
        alike = not _names_simulated(args.device)
        limit = TimeLimit(args.time_limit)
        played: list[tuple[ProcessReport, Outcomes]] = []
        for session in trace.sessions:
            if played and limit.is_over():
                break
            played.append(_play(archive, trace, session, settings, limit, counterpart, args.trace, alike))
    processes = [report for report, _ in played]
    if left := len(trace.sessions) - len(played):
        notes.append(f"{left} of {len(trace.sessions)} processes that were recorded: {limit}")
    stopped = str(limit) if left or any(outcomes.stopped for _, outcomes in played) else ""
    for process in processes:
        process.unchecked += notes
    report = make_run_report(
        trace.command,
        settings.device,
        settings.checks,
        0,
        processes,
        allow=allow,
        strict=args.strict,
        idle=stopped or find_idle([outcomes for _, outcomes in played]),
    )
    write_report(args, report, "replay")
    return report.exit_code


def _names_simulated(device: str | None) -> bool:
    return bool(device) and str(device).partition(":")[0] == "sim"


def _real_device(args: argparse.Namespace) -> Device | None:
    """The real device that the launches run on, too, where one is named."""
    from ..backends.open import open_device

    return open_device(args.device) if args.device and not _names_simulated(args.device) else None


def _play(
    archive: zipfile.ZipFile,
    trace: Trace,
    session: Session,
    settings: Settings,
    limit: TimeLimit,
    real: Device | None,
    file: str,
    alike: bool,
) -> tuple[ProcessReport, Outcomes]:
    """Play one session on devices of its own. limit, alike: as of play_session. AdrenoSimError where it is damaged."""
    from ..base.errors import AdrenoSimError
    from ..icd.trace.archive import open_session
    from ..icd.trace.player import play_session

    try:
        with open_session(archive, session) as stream:
            return play_session(stream, session, settings, limit, real, compare=trace.knows_failures, alike=alike)
    except ValueError as error:
        raise AdrenoSimError(f"{file}: {session.member}: {error}") from None
