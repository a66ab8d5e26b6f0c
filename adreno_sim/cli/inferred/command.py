"""`adreno-sim kernel FILE.cl` and nothing else: launches are inferred, and the smallest that fails is written as a file."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import options as cli_options
from ..output import command_line, report_stream, write_build_error, write_data, write_outputs

if TYPE_CHECKING:
    from ...results.launch_report import LaunchReport

OF_INFERRED = ("--sizes", "--kernel", "--failing")
"""Options that say something where launches are inferred."""
OF_LAUNCH_FILES = (
    "--variant", "--set", "--root", "--compare-with", "--save-outputs", "--dump", "--counters", "--isa", "--isa-of",
    *cli_options.TIME,
)  # fmt: skip
OF_MACHINE_CODE = ("--max-registers", "--min-waves", "--against")
ENDING = ".failing.toml"

_SIZES = re.compile(r"(?:([0-9]{1,6}):)?([0-9]{1,6})")
MOST = 1 << 16


def add_options(parser: argparse.ArgumentParser) -> None:
    """Register what bounds inferred launches."""
    parser.add_argument(
        "--sizes",
        type=sizes_argument,
        metavar="[LEAST:]MOST",
        help="without --launch: sizes of an axis that are tried (default: 1:128)",
    )
    parser.add_argument("--kernel", metavar="NAME", help="without --launch: one kernel of a file with several (default: all)")
    parser.add_argument(
        "--failing",
        metavar="FILE.toml",
        help=f"without --launch: where the smallest launch that fails is written (default: FILE{ENDING} in the working folder)",
    )
    parser.set_defaults(more_outputs=_find_failing)


def sizes_argument(text: str) -> tuple[int, int]:
    """[LEAST:]MOST as two numbers."""
    match = _SIZES.fullmatch(text)
    least, most = (int(match[1] or 1), int(match[2])) if match else (0, 0)
    if not 1 <= least <= most <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r}: expected MOST or LEAST:MOST, as 128 or 64:4096, at most {MOST}")
    return least, most


def is_inferred(args: argparse.Namespace) -> bool:
    """Whether launches are to be inferred: a kernel is all that is named."""
    return (
        args.launch is None and args.function is None and isinstance(args.file, str) and Path(args.file).suffix.lower() != ".py"
    )


def import_ahead(args: argparse.Namespace) -> None:
    """Import what the verdict about a kernel needs. The front end's reader is imported when a program is compiled."""
    if args.function is not None:
        return
    if args.launch is None:
        from ...launch_spec.inferred import run

        del run
    else:
        from ...launch_spec import read
        from ...launch_spec.mending import launch

        del launch, read
    from ...render.console import load_console
    from ...render.launch import text

    del text
    load_console(report_stream(args))


def run_kernels(args: argparse.Namespace) -> int:
    """Run the launches that are inferred of the kernels of a file, and report them."""
    from ...base.allow import find_config
    from ...base.errors import BuildError
    from ...launch_spec.inferred.run import SIZES, Wanted, run_inferred

    reason = "is for a launch: it needs --launch SPEC.toml (adreno-sim init writes one)"
    cli_options.refuse(args, OF_LAUNCH_FILES, reason)
    cli_options.refuse(args, OF_MACHINE_CODE, "is for --isa without --launch")
    source, target = Path(args.file), Path(args.failing or _name_failing(args.file))
    wanted = Wanted(
        args.device, args.checks, args.kernel or "", args.build_options or "", args.sizes or SIZES, find_config(Path.cwd()),
        args.strict, args.unsafe_includes, args.all_drivers, bool(args.html), not args.no_patch,
    )  # fmt: skip
    try:
        report, failing = run_inferred(source, target, wanted)
    except BuildError as error:
        write_build_error(args, error.diagnostics)
        raise
    told = _write_failing(target, failing, chosen=args.failing is not None) if failing else ""
    _write(report, args, told)
    return report.exit_code


def _write(report: LaunchReport, args: argparse.Namespace, told: str) -> None:
    from ...render.launch import text

    def to_json() -> dict[str, Any]:
        from ...render.launch import encode

        return encode.to_json(report)

    text.show(report, report_stream(args), told=told)
    write_data(args, to_json)
    if args.html:
        from ...render.launch import html

        html.write_html(args.html, report, command_line(args))
    write_outputs(args, report.findings, report.allowed, checks=report.checks)


def _name_failing(source: str) -> str:
    """Where a launch file goes that nobody names: into the working folder, or beside a source that is not below it."""
    from ...base.trust.confined_path import is_below

    path = Path(source)
    return str((Path() if is_below(path, Path.cwd()) else path.parent) / f"{path.stem}{ENDING}")


def _find_failing(args: argparse.Namespace) -> list[str]:
    """What may be written besides what options name."""
    files = args.file if isinstance(args.file, list) else [args.file]
    named = [file for file in files if file]
    return [_name_failing(named[0])] if len(named) == 1 and args.launch is None and args.failing is None else []


def _write_failing(target: Path, text: str, chosen: bool) -> str:
    """Write the launch file. Returns the line that says so; another file of this name is left alone unless it was chosen."""
    from ...base.errors import AdrenoSimError
    from ...base.output_file import write_text
    from ...launch_spec.inferred.run import MARK

    again = f"adreno-sim kernel --launch {shlex.quote(str(target))}"
    try:
        if not chosen and target.exists() and MARK not in target.read_text(encoding="utf-8", errors="replace")[: len(MARK)]:
            return f"the smallest launch that fails was not written: {target} is another file (--failing FILE names one)"
        write_text(target, text)
    except (AdrenoSimError, OSError) as error:
        if chosen:
            raise
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        return f"the smallest launch that fails was not written: {reason} (--failing FILE names another place)"
    return f"wrote {os.fspath(target)}, the smallest launch that fails: {again}"
