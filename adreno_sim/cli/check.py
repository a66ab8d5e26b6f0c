"""`adreno-sim check`: compile a model, run every kernel, compare, audit the memory plan."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ..base.processes import isolation
from . import cache
from . import options as cli_options
from .output import add_outputs, command_line, declare, report_stream, write_data, write_model_outputs
from .shell import profile_self

if TYPE_CHECKING:
    from ..results.model import Report


CHECK_DETAILS = """\
MODEL is an .onnx file, a program of torch.export (.pt2), a .py file with one TVMScript module, or a saved bundle (.asim).
Weights that an ONNX file leaves open, and inputs that are not given, follow from the seed. A bundle is compiled already: options
for compiling are refused for it.

exit code: 0 ok; 1 findings: errors, wrong values, with --strict also warnings; 2 usage or bad input; 3 unsupported
"""

OUTPUTS, INPUTS = ("--json", "--save", "--sarif", "--html"), ("model", "--input")

SHARES = {"start": 5, "import": 10, "compile": 18, "references": 22, "build": 5, "run": 40}
"""The stages of a check, and what part of the time each takes of a network that was never checked before, in percent."""


def add(commands: Any) -> None:
    """Register the command."""
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
    check.add_argument(
        "--explain",
        action="store_true",
        help="also say for each kernel why an access is not proven in range",
    )
    cli_options.add(check, "--counters", *cli_options.TIME, "--all-drivers", "--isa", "--isa-of", "--every-reading")
    profile_self.add_option(check)
    declare(check, (*OUTPUTS, profile_self.FLAG), (*INPUTS, "--compare"), bundles=("--save",))
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
    cache.add_option(check)
    add_outputs(check)
    declare(check, OUTPUTS, INPUTS, bundles=("--save",))


def _check(args: argparse.Namespace) -> int:
    if not args.isolate:
        cli_options.refuse(args, ("--time-limit",), "is for a check in a separate process (--isolate)")
    if args.isolate and args.progress_file is None:
        return _check_isolated(args)
    args.device = cli_options.device_for_all_drivers(args)
    options = {"reproduce": args.reproduce, "explain": args.explain, "counters": args.counters, **cli_options.time_options(args)}
    report = run_check(args, **options, isa=cli_options.chips(args), every_reading=args.every_reading)
    write_report(report, args)
    return report.exit_code


def run_check(args: argparse.Namespace, **options: Any) -> Report:
    """Check the model that `args` name. options: of `check`, besides those of `add_check_arguments`."""
    from ..base import progress
    from ..base.garbage import importing

    with progress.show_progress(sys.stderr) as bar:
        bar.expect(SHARES)
        bar.stage("start")
        with importing():
            from ..compiler.check.check import check

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
            **cli_options.given_options(args, *cli_options.COMPILE, "--shape", "--seed"),
            **options,
        )


def _check_isolated(args: argparse.Namespace) -> int:
    """The same in a separate process; where that crashed or hung, a report that says so."""
    outcome = isolation.run(args.argv, args.time_limit or isolation.DEFAULT_LIMIT)
    if outcome.problem:
        print(f"error: {outcome.problem}", file=sys.stderr)
    if outcome.finding is None:
        return outcome.code
    from ..base.trust.device_string import default_device
    from ..compiler.lower.compile_options import CompileOptions
    from ..compiler.lower.targets import target_text
    from ..results.model import Report

    options = CompileOptions.of(cli_options.given_options(args, "--target", "--pipeline", "--seed"), args.model)
    device = args.device or default_device()
    report = Report(
        args.model, target_text(options.target), str(options.pipeline), (), device, args.checks or "bounds", options.seed, ""
    )
    report.findings.append(outcome.finding)
    report.unchecked.append("everything else: the process that ran the device did not live to report")
    write_report(report, args)
    return report.exit_code


def write_report(report: Report, args: argparse.Namespace) -> None:
    """Print the report, and write it to every file that the options name."""
    from ..render.report import text

    def to_json() -> dict[str, Any]:
        from ..results import encode

        return encode.report_to_json(report)

    text.show(report, report_stream(args), args.notes)
    write_data(args, to_json)
    if args.html:
        from ..render.report import html

        html.write_html(args.html, report, command_line(args))
    sources = {f"{name}.cl": source for name, source in report.sources.items()}
    write_model_outputs(args, args.model, report.findings, report.allowed, sources, report.checks)
