"""`adreno-sim replay`: run what `adreno-sim run --record` recorded again, without the program."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import OptionError
from ..base.processes.isolation import DEFAULT_LIMIT as LIMIT
from ..base.processes.isolation import seconds
from . import cache, options
from .output import add_outputs, declare, report_stream
from .recordings.launch_filters import add_filters, make_filter
from .run import read_allow_list, write_report

if TYPE_CHECKING:
    from ..device.protocol import Device
    from ..icd.launches import LaunchObserver
    from ..icd.trace.archive import RecordedSession
    from ..icd.trace.launch_watch import LaunchWatch
    from ..icd.trace.outcomes import Outcomes
    from ..icd.trace.player import Playing
    from ..results.run_report import ProcessReport

OF_REPLAYS = (
    "--strict", "--allow", "--json", "--html", "--sarif", "--annotations", "--list", "--counters", "--time", "--max-time",
    "--compare", "--dump", "--kernels", "--skip-launches", "--launches", "--max-findings", "--write-allow",
)  # fmt: skip

DETAILS = """\
The file holds sources, arguments and data of every launch: a whole bug report. On the simulated device the same findings arise
again; name another with --device sim:PROFILE, or look closer with --checks full.

    adreno-sim run --record trace.asim -- ./a_program
    adreno-sim replay trace.asim --checks full
    adreno-sim replay trace.asim --list               # launches, one by one; --launch N, --cut FROM:TO, --kernels REGEX choose
    adreno-sim replay trace.asim --device cl:0        # each launch also on a real device, from the same memory

With --device cl:... what a launch leaves there is compared with what it leaves on the recorded simulated device: integers
exactly, floats within the tolerance of their type, except for undefined values and the conversion of floats to pixels. A
difference is a finding of the real device, at the launch that made it.

exit code: 0 ok; 1 findings, with --strict also warnings; 2 usage, a file that is not a recording, one in which nothing builds
or runs, that takes longer than --time-limit, or calls that end otherwise than they were recorded; 3 something unsupported
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
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--launch", type=options.count, metavar="N", help="check launch N alone, as --list numbers them")
    chosen.add_argument("--cut", type=_cut, metavar="FROM:TO", help="check launches FROM to TO; either may be left out")
    alone = "with --launch N: write it to a new folder DIR, for adreno-sim kernel, and run nothing more"
    parser.add_argument("--export", metavar="DIR", help=alone)
    add_filters(parser)
    parser.add_argument("--list", action="store_true", help="list the checked launches: sizes, arguments, time, findings")
    options.add(parser, "--counters", *options.TIME, "--every-reading")
    parser.add_argument(
        "--dump", action="append", choices=("ir", "llvm", "proofs", "isa"),
        help="print the inside of the first checked launch of each kernel, as adreno-sim kernel does; may be given several times",
    )  # fmt: skip
    parser.add_argument("--time-limit", type=seconds, default=LIMIT, metavar="S", help=limit)
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- = standard output)")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page")
    add_outputs(parser)
    cache.add_option(parser)
    declare(parser, ("--json", "--sarif", "--html", "--write-allow"), ("trace", "--allow", "--compare"))
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    return _replay(args) if args.export is None else _export(args)


def _export(args: argparse.Namespace) -> int:
    """Write the launch as a folder."""
    from ..base.errors import AdrenoSimError
    from ..icd.trace.export import export_launch
    from ..icd.trace.launch_point import open_launch

    options.refuse(args, OF_REPLAYS, "is for launches that run, and --export writes one that does not")
    if args.launch is None:
        raise AdrenoSimError("--export: expected --launch N, the launch that is written (--list has the numbers)")
    if args.device and not _names_simulated(args.device):
        raise OptionError("device", f"{args.device}: --export takes a simulated device, which plays what comes before")
    with open_launch(
        args.trace, args.launch, device=args.device, checks=args.checks, seed=args.seed, time_limit=args.time_limit
    ) as point:
        for note in point.notes:
            print(f"not checked: {note}", file=sys.stderr)
        file = export_launch(point, Path(args.export), args.trace)
    print(f"wrote {args.export}: launch {args.launch}, kernel {point.launch.kernel.name}")
    print(f"next: adreno-sim kernel --launch {shlex.quote(str(file))} --explain")
    return 0


def _replay(args: argparse.Namespace) -> int:
    from ..icd.trace.archive import open_trace
    from ..icd.trace.outcomes import find_idle
    from ..icd.trace.player import Playing
    from ..icd.trace.replay_evidence import ReplayEvidence
    from ..icd.trace.replay_settings import choose_settings
    from ..icd.trace.time_limit import TimeLimit
    from ..render.run.launches import show_launches
    from ..results.run_report import make_run_report

    allow, first, last = read_allow_list(args.allow), *_numbers(args)
    with open_trace(args.trace) as (trace, archive):
        named = args.device if _names_simulated(args.device) else None
        settings, _, notes = choose_settings(
            trace, args.trace, named, checks=args.checks, seed=args.seed, counters=args.counters or None
        )  # fmt: skip
        wish = options.time_wish(args, settings.device)
        evidence = ReplayEvidence() if args.html else None
        watch = _watch(args, evidence)
        how = Playing(
            settings, TimeLimit(args.time_limit), _real_device(args), compare=trace.knows_failures, alike=named is None,
            filter=make_filter(args, first, last), watch=watch, most_said=args.max_findings,
            every_reading=args.every_reading,
        )  # fmt: skip
        played: list[tuple[ProcessReport, Outcomes]] = []
        for session in trace.sessions:
            if played and how.limit.is_over():
                break
            played.append(_play(archive, session, how, args.trace))
    processes = [report for report, _ in played]
    if left := len(trace.sessions) - len(played):
        notes.append(f"{left} of {len(trace.sessions)} processes that were recorded: {how.limit}")
    stopped = str(how.limit) if left or any(outcomes.stopped for _, outcomes in played) else ""
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
        most=args.max_findings,
        time=watch.time,
        wish=wish,
    )
    report.counters = watch.counters
    report.readings = how.readings if args.every_reading or how.readings.tried else None
    if evidence is not None:
        report.evidence = evidence.gather(args.trace, named, args.time_limit, {"checks": args.checks, "seed": args.seed})
    show_launches(report, report_stream(args))
    write_report(args, report, "replay")
    return report.exit_code


def _numbers(args: argparse.Namespace) -> tuple[int, int | None]:
    """Numbers of the first and the last launch that is checked."""
    if args.launch is not None:
        return args.launch, args.launch
    return args.cut or (1, None)


def _watch(args: argparse.Namespace, also: LaunchObserver | None) -> LaunchWatch:
    from ..icd.trace.launch_watch import LaunchWatch
    from ..render.launch.inside import inside_text

    if args.dump and args.json == "-":
        raise OptionError("dump", "both it and --json - write to standard output; expected a file after --json")
    return LaunchWatch(
        lists=args.list,
        times=args.time,
        dumps=args.dump or (),
        show=lambda inside: print(inside_text(inside), end=""),
        also=also,
    )


def _names_simulated(device: str | None) -> bool:
    return bool(device) and str(device).partition(":")[0] == "sim"


def _real_device(args: argparse.Namespace) -> Device | None:
    """The real device that the launches run on, too, where one is named."""
    from ..backends.open import open_device

    return open_device(args.device) if args.device and not _names_simulated(args.device) else None


def _play(archive: zipfile.ZipFile, session: RecordedSession, how: Playing, file: str) -> tuple[ProcessReport, Outcomes]:
    """Play one session on devices of its own. AdrenoSimError if it is damaged."""
    from ..base.errors import AdrenoSimError
    from ..icd.trace.archive import open_session
    from ..icd.trace.player import play_session

    try:
        with open_session(archive, session) as stream:
            return play_session(stream, session, how)
    except ValueError as error:
        raise AdrenoSimError(f"{file}: {session.member}: {error}") from None


def _cut(text: str) -> tuple[int, int | None]:
    """FROM:TO as numbers; one of them may be missing."""
    first, colon, last = text.partition(":")
    if not colon or not re.fullmatch(r"[0-9]{0,9}:[0-9]{0,9}", text) or (first and last and int(first) > int(last)):
        raise argparse.ArgumentTypeError(f"{text!r:.60}: expected FROM:TO, numbers of launches, as 3:8, 3: or :8")
    return int(first or 1), int(last) if last else None
