"""The command line. Everything heavy is imported by the command that needs it: `adreno-sim --help` stays immediate.

Exit codes: 0 ok, 1 findings, 2 usage or bad input, 3 unsupported, 4 a bug in this program, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from . import (
    cli_bundle,
    cli_cache,
    cli_devices,
    cli_doctor,
    cli_footprint,
    cli_kernel,
    cli_layout,
    cli_options,
    cli_precision,
    cli_reproduce,
    cli_scopes,
    cli_sweep,
    cli_tune,
    isolation,
)
from .base.version import __version__

if TYPE_CHECKING:
    from .report.model import Report

EXIT_USAGE, EXIT_UNSUPPORTED, EXIT_INTERNAL, EXIT_INTERRUPTED = 2, 3, 4, 130

TRACEBACK = "ADRENO_SIM_TRACEBACK"
"""Environment variable: not empty = show the traceback of an internal error."""

CHECK_DETAILS = """\
MODEL is an .onnx file, a program of torch.export (.pt2), a .py file with one TVMScript module, or a saved bundle (.asim).
Weights that an ONNX file leaves open, and inputs that are not given, follow from the seed. A bundle is compiled already: what
says how to compile is refused for it.

exit code: 0 ok; 1 findings: errors, wrong values, with --strict also warnings; 2 usage or bad input; 3 unsupported
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"error: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. Errors of the user's are one line on stderr, without a traceback."""
    try:
        args = _parser().parse_args(argv)
        args.argv = list(sys.argv[1:] if argv is None else argv)
    except SystemExit as end:
        return int(end.code or 0)
    if getattr(args, "progress_file", None):
        isolation.end_with_parent()
    try:
        with cli_cache.as_wanted(args):
            return int(args.run(args))
    except KeyboardInterrupt:
        return _complain("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_USAGE
    except Exception as error:
        from .base.errors import AdrenoSimError, OptionError

        if isinstance(error, OptionError):
            return _complain(f"{cli_options.flag_of(error.option)}: {error.reason}", error.exit_code)
        if isinstance(error, AdrenoSimError):
            return _complain(str(error), error.exit_code)
        if os.environ.get(TRACEBACK):
            raise
        if isinstance(error, MemoryError):
            return _complain(f"the host has not enough memory for this: {error or 'out of memory'}".splitlines()[0], EXIT_USAGE)
        if isinstance(error, RecursionError):
            return _complain("unsupported: nested too deeply to be looked at", EXIT_UNSUPPORTED)
        text = f"internal error: {type(error).__name__}: {error}".splitlines()[0]
        return _complain(f"{text} (a bug; {TRACEBACK}=1 shows where)", EXIT_INTERNAL)


def _complain(message: str, code: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="adreno-sim", description="A simulated Adreno GPU for testing compilers.")
    parser.add_argument("--version", action="version", version=f"adreno-sim {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    _add_check(commands)
    cli_bundle.add(commands)
    cli_cache.add(commands)
    cli_doctor.add(commands)
    cli_footprint.add(commands)
    cli_kernel.add(commands)
    cli_precision.add(commands)
    cli_reproduce.add(commands)
    cli_scopes.add(commands)
    cli_sweep.add(commands)
    cli_tune.add(commands)
    cli_devices.add(commands)
    cli_layout.add(commands)
    return parser


def _add_check(commands: Any) -> None:
    check = commands.add_parser(
        "check",
        help="compile a model for Adreno, run every kernel, compare, audit the memory plan",
        description="Compile a model with TVM's Adreno pipeline, run every kernel on a device, compare each with its "
        "reference and the whole model with TVM llvm and ONNX Runtime, audit the memory plan.",
        epilog=CHECK_DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_check_arguments(check)
    check.add_argument(
        "--reproduce", metavar="DIR", help="write the first failing launch to this folder (see the command reproduce)"
    )
    isolation.add_arguments(check)
    check.set_defaults(run=_check)


def add_check_arguments(check: argparse.ArgumentParser) -> None:
    """Options of the commands that check a model; `run_check` and `write_report` do what they say."""
    check.add_argument("model", metavar="MODEL", help="what to check (.onnx, .pt2, .py, .asim)")
    check.add_argument(
        "--device",
        metavar="DEVICE",
        help="sim:PROFILE[,key=value...] or cl[:PLATFORM[:DEVICE]] (default: ADRENO_SIM_DEVICE, else sim:adreno-740)",
    )
    cli_options.add(check, *cli_options.COMPILE)
    check.add_argument(
        "--checks",
        choices=("off", "bounds", "full"),
        help="how closely the simulated device watches memory accesses (default: bounds)",
    )
    cli_options.add(check, "--input", "--shape", "--seed", seed=cli_options.SEED_OF_RUNS)
    check.add_argument(
        "--plan", metavar="PLANNER", help="memory plan to run with (default: as compiled, which --pipeline fixed makes tvm-fixed)"
    )
    check.add_argument(
        "--compare-with", metavar="DEVICE", help="a second device: run every call there too, and lay the results side by side"
    )
    check.add_argument("--save", metavar="FILE.asim", help="also save the compiled model, which then runs without TVM")
    check.add_argument("--strict", action="store_true", help="warnings count as errors")
    check.add_argument("--keep-going", action="store_true", help="go on after the first wrong value")
    check.add_argument("--notes", action="store_true", help="show notes among the findings")
    check.add_argument(
        "--json",
        metavar="FILE",
        help="also write the report as JSON (- = standard output, the table then goes to standard error)",
    )
    check.add_argument("--html", metavar="FILE", help="also write the report as a page")
    cli_cache.add_option(check)
    cli_kernel.add_outputs(check)


def _check(args: argparse.Namespace) -> int:
    if not args.isolate:
        cli_options.refuse(args, ("--time-limit",), "is for a check in a process of its own (--isolate)")
    if args.isolate and args.progress_file is None:
        return _check_isolated(args)
    report = run_check(args, reproduce=args.reproduce)
    write_report(report, args)
    return report.exit_code


def run_check(args: argparse.Namespace, **options: Any) -> Report:
    """Check the model that `args` name. options: of `check`, besides those of `add_check_arguments`."""
    from .report import progress

    for file in (args.json, args.save, args.sarif, args.html):
        refuse_unwritable(file)
    with progress.shown(sys.stderr, getattr(args, "progress_file", None)) as bar:
        from .compiler.check import check

        return check(
            args.model,
            args.input,
            device=args.device,
            checks=args.checks,
            progress=bar,
            keep_going=args.keep_going,
            strict=args.strict,
            plan=args.plan,
            compare_with=args.compare_with,
            save=args.save,
            **cli_options.given(args, *cli_options.COMPILE, "--shape", "--seed"),
            **options,
        )


def _check_isolated(args: argparse.Namespace) -> int:
    """The same in a process of its own; where that crashed or hung, a report that says so."""
    outcome = isolation.run(args.argv, args.time_limit or isolation.DEFAULT_LIMIT)
    if outcome.finding is None:
        return outcome.code
    from .compiler.compile_options import CompileOptions
    from .report.model import Report

    options = CompileOptions.of(cli_options.given(args, "--target", "--pipeline", "--seed"), args.model)
    device = args.device or os.environ.get("ADRENO_SIM_DEVICE") or "sim:adreno-740"
    report = Report(args.model, str(options.target), options.pipeline, (), device, args.checks or "bounds", options.seed, "")
    report.findings.append(outcome.finding)
    report.unchecked.append("everything else: the process that ran the device did not live to report")
    write_report(report, args)
    return report.exit_code


def refuse_unwritable(path: str | None) -> None:
    """Say before the work, not after it, that a file cannot be written."""
    from .base.errors import AdrenoSimError

    if path in (None, "-"):
        return
    target = Path(str(path))
    if target.is_dir() or not os.access(target.parent, os.W_OK):
        reason = "is a folder" if target.is_dir() else f"folder {target.parent} does not exist or is not writable"
        raise AdrenoSimError(f"cannot write {target}: {reason}")


def write_report(report: Report, args: argparse.Namespace) -> None:
    """Show the report, and write it in every form that was asked for."""
    from .base import json_io
    from .report import check_html, encode, text

    text.show(report, sys.stderr if args.json == "-" else sys.stdout, args.notes)
    if args.json == "-":
        json_io.print_json(encode.report_to_json(report), sys.stdout)
    elif args.json:
        json_io.write_json(args.json, encode.report_to_json(report))
    if args.html:
        check_html.write_html(args.html, report)
    sources = {f"{name}.cl": source for name, source in report.sources.items()}
    cli_kernel.write_outputs(args, report.findings, report.allowed, sources)
