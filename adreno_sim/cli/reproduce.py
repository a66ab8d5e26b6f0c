"""`adreno-sim reproduce`: check a model and write its first failing launch as a folder for `adreno-sim kernel`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .output import report_stream

DETAILS = """\
DIR gets kernel.cl, launch.toml, the arguments and, for a wrong value, what was expected: a whole bug report.
`adreno-sim kernel --launch DIR/launch.toml --explain` shows the same finding again.

exit code: as of check: 1 where something failed (and was written), 0 where nothing did
"""


def add(commands: Any) -> None:
    """Register the command."""
    from .check import add_check_arguments

    parser = commands.add_parser(
        "reproduce",
        help="write the first failing launch of a model as a folder to attach to a bug report",
        description="Check a model as the check command does, and write the first launch that fails as a folder.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_check_arguments(parser)
    parser.add_argument("--to", required=True, metavar="DIR", help="folder to write, new or empty")
    parser.add_argument("--kernel", default="", metavar="NAME", help="the first failing launch of this kernel")
    parser.set_defaults(run=_reproduce)


def _reproduce(args: argparse.Namespace) -> int:
    from ..base.launch_folder import require_writable
    from .check import run_check, write_report

    require_writable(Path(args.to))
    args.keep_going = args.keep_going or bool(args.kernel)
    report = run_check(args, reproduce=args.to, reproduce_kernel=args.kernel)
    write_report(report, args)
    if not report.reproduction:
        what = f"no launch of kernel {args.kernel} failed" if args.kernel else "no launch failed"
        print(f"{what}: nothing was written to {args.to}", file=report_stream(args))
    return report.exit_code
