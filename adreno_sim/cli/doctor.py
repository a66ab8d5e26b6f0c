"""`adreno-sim doctor`: which known defects the installed TVM has, and whether the fixes hold."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..base.text.stream import styled
from . import cache, options
from .output import declare, report_stream, write_data
from .streams import hide_library_warnings

EXIT_OK, EXIT_FINDINGS = 0, 1

DETAILS = """\
Small models are compiled and run on the device: with TVM's passes alone, with every fix but the one for the
defect, and with all fixes (the fixed pipeline, which check uses by default). Takes about a minute.

exit code: 0 the fixed pipeline is right on every model, with --strict also TVM's own; 1 it is not; 2 usage, or a TVM that
cannot be imported safely; 3 unsupported version of TVM
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "doctor",
        help="which known defects the installed TVM has, and whether the fixes hold",
        description="Compile and check a small model for each known defect of TVM's Adreno path.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", metavar="DEVICE", help="as of check (default: ADRENO_SIM_DEVICE, else sim:adreno-740)")
    parser.add_argument("--only", metavar="NAME,...", default="", help="examine these defects only")
    parser.add_argument("--strict", action="store_true", help="a defect that is present counts, fixed or not")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON (- = standard output)")
    parser.add_argument(
        "--report", metavar="FOLDER", help="write a Markdown report for TVM's tracker of each defect that is present"
    )
    cache.add_option(parser)
    declare(parser, ("--json",))
    parser.set_defaults(run=_doctor)


def _doctor(args: argparse.Namespace) -> int:
    from ..backends.open import open_device
    from ..base.errors import AdrenoSimError
    from ..compiler.doctor.defects import DEFECTS
    from ..compiler.tvm_bridge.versions import import_tvm
    from ..render.doctor import text

    known = [defect.name for defect in DEFECTS]
    only = tuple(name for name in args.only.split(",") if name)
    for name in only:
        if name not in known:
            raise AdrenoSimError(f"defect {name!r}: expected one of {', '.join(known)}")
    if args.report:
        _make_folder(Path(args.report))
    device = open_device(args.device)
    options.refuse_counters(device.options)
    import_tvm()  # says what is wrong with the installation before anything of it is used
    from ..compiler.doctor.examine import examine

    with hide_library_warnings() as shown:  # TVM's, of compilations that are to fail

        def step(name: str) -> None:
            if shown.isatty():
                print(f"\r\033[K{name}", end="", file=styled(shown), flush=True)

        found = examine(device, step, only)
        step("")
    write_data(args, found.as_json)
    text.show(found, report_stream(args))
    if args.report:
        from ..compiler.doctor.upstream import write_reports

        files = write_reports(found, Path(args.report))
        print(f"{len(files)} reports in {args.report}", file=report_stream(args))
    failed = not found.ok or (args.strict and bool(found.present))
    return EXIT_FINDINGS if failed else EXIT_OK


def _make_folder(folder: Path) -> None:
    """Make the folder of the reports, before the work."""
    from ..base.errors import AdrenoSimError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AdrenoSimError(f"--report {folder}: expected a folder to write to: {error.strerror}") from error
