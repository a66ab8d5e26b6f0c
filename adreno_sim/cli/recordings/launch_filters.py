"""Options of `run` and `replay`: which launches are checked, how many findings are shown, what is accepted from now on."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .. import options

if TYPE_CHECKING:
    from ...icd.calls.launch_filter import LaunchFilter
    from ...results.run_report import RunReport


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Register the options."""
    parser.add_argument(
        "--kernels", type=_expression, metavar="REGEX", help="check launches whose kernel's name matches, anywhere in it, alone"
    )
    parser.add_argument(
        "--skip-launches", type=options.count, metavar="N", help="leave the first N of these unchecked in each process"
    )
    parser.add_argument("--launches", type=_some, metavar="N", help="then check N of them in each process")
    parser.add_argument(
        "--max-findings", type=_some, metavar="N", help="show N findings at most, the most severe ones; all are counted"
    )
    parser.add_argument(
        "--write-allow", metavar="FILE", help="write an allow-list that accepts what this run found, for --allow of the next"
    )


def make_filter(args: argparse.Namespace, first: int = 1, last: int | None = None) -> LaunchFilter:
    """The launches that are to be checked. first, last: numbers in a recording."""
    from ...base.text.name_pattern import NamePattern
    from ...icd.calls.launch_filter import LaunchFilter

    kernels = NamePattern(args.kernels) if args.kernels else None
    return LaunchFilter(kernels, args.skip_launches or 0, args.launches, first, last)


def write_allow_list(args: argparse.Namespace, report: RunReport) -> None:
    """Write the allow-list where the command line asks for it. AdrenoSimError if it cannot be written."""
    if args.write_allow:
        from ...base.json_io import write_text
        from .allow_text import list_entries

        write_text(args.write_allow, list_entries(report.findings, report.allowed))


def _expression(text: str) -> str:
    from ...base.text.name_pattern import NamePattern, PatternError

    try:
        NamePattern(text)
    except PatternError as error:
        raise argparse.ArgumentTypeError(f"{text!r:.100}: {error}") from None
    return text


def _some(text: str) -> int:
    if not text.isdigit() or len(text) > options.MOST_DIGITS or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r:.60}: expected a number, 1 or more")
    return int(text)
