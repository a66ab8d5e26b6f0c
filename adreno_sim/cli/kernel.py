"""`adreno-sim kernel`: run and check one hand-written kernel as a launch file says, or one PrimFunc of a Python file."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import cache
from . import options as cli_options
from .inferred import command as inferred
from .output import (
    add_outputs,
    command_line,
    declare,
    refuse_overwriting,
    report_stream,
    write_build_error,
    write_data,
    write_model_outputs,
    write_outputs,
)
from .shell import profile_self
from .shell.named_files import find_root, refuse_other_kinds

if TYPE_CHECKING:
    from ..device.inspection import Inside
    from ..results.launch_report import LaunchReport

OF_ISA = ("--max-registers", "--min-waves", "--build-options", "--against")
OF_FUNCTIONS = (
    "--input", "--shape", "--scalar", "--expected", "--target", "--pipeline", "--without-fix", "--seed", "--keep-going",
)  # fmt: skip
OF_LAUNCHES = (
    "--launch", "--variant", "--set", "--root", "--save-outputs", "--unsafe-includes", "--dump",
    "--isa", "--isa-of", "--no-patch", *OF_ISA,
)  # fmt: skip
OF_ONE = (
    "--dump", "--isa", "--isa-of", "--save-outputs", "--compare", "--compare-with", "--sarif", "--annotations", "--explain",
    "--counters", "--every-reading",
)  # fmt: skip
"""Options that say something of one launch, where several are ranked."""

OF_RUNS = (
    "--variant", "--set", "--root", "--checks", "--compare-with", "--save-outputs", "--strict", "--unsafe-includes", "--explain",
    "--counters", "--every-reading", "--no-patch", "--html", "--sarif", *cli_options.TIME,
)  # fmt: skip

DETAILS = """\
adreno-sim kernel FILE.cl infers launches from the code of each kernel: several sizes, tight, odd and, where the code guards
against it, with more work-items than elements. The smallest launch that fails is written as FILE.failing.toml. With --launch it
is one launch: SPEC.toml gives the work sizes, the arguments in order, and what is expected:

    global_size = ["n"]         # numbers, or expressions of [values]
    [values]
    n = 64                      # --set n=128 replaces it
    [[argument]]
    kind = "buffer"             # or image2d, image3d, ..., scalar, local, sampler
    dtype = "float32"
    data = {fill = "random", seed = 1}
    count = "n"
    [[output]]
    argument = 0
    data = {file = "expected.npy"}

adreno-sim init FILE.cl writes one; expected = "file.py:function" in it runs that function and compares with what it returns.

With --function, FILE.py holds a PrimFunc (at its top level, or in a TVMScript module). It is compiled for the device and
compared with itself before scheduling, or with --expected. Arguments come from --input (a .npz by name of the parameters),
numbers from --scalar; other arrays are made: zeros for results, seeded floats of the --shape given.

exit code: 0 ok; 1 findings: errors, wrong outputs, with --strict also warnings, or findings other than the launch file
expects; 2 usage or bad input, as a kernel that does not compile; 3 unsupported
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "kernel",
        help="run and check one hand-written kernel, or one TIR PrimFunc",
        description="Run one OpenCL C kernel on a device as a launch file says, or compile and run one TIR PrimFunc, report what "
        "is wrong with it.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file",
        nargs="*",
        metavar="FILE",
        help="the kernel, a .cl (default: the launch file's source); with --function, a .py; several with --time are ranked",
    )
    parser.add_argument(
        "--launch", metavar="SPEC.toml", help="what to run it with (default: launches are inferred from the code)"
    )
    parser.add_argument("--function", metavar="NAME", help="the PrimFunc of a .py file that is compiled and run")
    cli_options.add(
        parser, "--input", "--shape", "--target", "--pipeline", "--without-fix", "--seed",
        input="with --function: arrays by name of the parameters (.npz)", seed="with --function: " + cli_options.SEED_OF_RUNS,
        shape="with --function: shape of an array that is made",
    )  # fmt: skip
    parser.add_argument(
        "--scalar", action="append", type=_scalar, metavar="NAME=VALUE", help="with --function: the value of a scalar parameter"
    )
    parser.add_argument("--expected", metavar="FILE.npz", help="with --function: what arrays should hold after the call, by name")
    parser.add_argument("--keep-going", action="store_true", help="with --function: go on after the first wrong value")
    parser.add_argument(
        "--variant",
        action="append",
        metavar="NAME",
        help="with the keys of [variant.NAME] in the launch file; with --time it may be given several times: they are ranked",
    )
    parser.add_argument(
        "--set", action="append", metavar="NAME=NUMBER", help="another number for one of the launch file's [values]"
    )
    parser.add_argument(
        "--root", metavar="FOLDER", help="the folder below which the launch file may name files (default: its own)"
    )
    parser.add_argument(
        "--device", metavar="DEVICE", help="as of check (default: the launch file's, else ADRENO_SIM_DEVICE, ...)"
    )
    parser.add_argument("--checks", choices=("off", "bounds", "full"), help="how closely accesses are watched (default: full)")
    parser.add_argument(
        "--compare-with", metavar="DEVICE", help="a second device: run the same there too, and lay the results side by side"
    )
    parser.add_argument(
        "--save-outputs", metavar="FILE.npz", help="write what the arguments that the kernel may write hold afterwards, by name"
    )
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument(
        "--unsafe-includes",
        action="store_true",
        help="let the kernel read any file; without it, those below its own folder and below the folders of -I",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="also say why an access is not proven in range",
    )
    parser.add_argument(
        "--no-patch",
        action="store_true",
        help="do not look for a patch; without it a launch that fails runs some more times, with edits that its findings suggest",
    )
    parser.add_argument(
        "--dump",
        action="append",
        choices=("ir", "llvm", "proofs", "isa"),
        help="print the kernel IR, the LLVM text that ran, what is proven of each access, or Adreno assembly; may be given "
        "several times (the report then goes to standard error)",
    )
    parser.add_argument(
        "--isa",
        action="store_true",
        help="also compile to the machine code of the device's chip, by Mesa: registers, waves, instructions (extra isa); "
        "without --launch, of all kernels in FILE, and nothing runs",
    )
    parser.add_argument(
        "--max-registers", type=cli_options.count, metavar="N", help="with --isa alone: more of a kernel are an error (exit 1)"
    )
    parser.add_argument("--min-waves", type=cli_options.count, metavar="N", help="with --isa alone: fewer are an error (exit 1)")
    parser.add_argument(
        "--build-options", metavar="OPTIONS", help="without --launch: of the build: --build-options='-cl-std=CL3.0 -DN=4'"
    )
    parser.add_argument(
        "--against",
        metavar="FILE.cl",
        help="with --isa alone: the kernels of another file beside these; fewer waves are an error",
    )
    cli_options.add(parser, "--isa-of", "--counters", *cli_options.TIME, "--all-drivers", "--every-reading")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- = standard output)")
    parser.add_argument("--html", metavar="FILE", help="also write the report as a page")
    add_outputs(parser)
    inferred.add_options(parser)
    cache.add_option(parser)
    read = ("file", "--launch", "--input", "--expected", "--compare", "--against")
    profile_self.add_option(parser)
    declare(parser, ("--json", "--sarif", "--html", "--save-outputs", "--failing", profile_self.FLAG), read)
    parser.set_defaults(run=_kernel, imports=inferred.import_ahead)


def _kernel(args: argparse.Namespace) -> int:
    from ..base.errors import AdrenoSimError

    if args.function is None:
        refuse_other_kinds(args.file or (), args.launch)
    launches = [(file, variant) for file in args.file or [None] for variant in args.variant or [None]]
    if len(launches) > 1:
        return _rank(args, launches)
    args.file, args.variant = launches[0]
    if args.function is not None:
        cli_options.refuse(args, inferred.OF_INFERRED, "is for a kernel, a .cl")
        return _prim_func(args)
    cli_options.refuse(args, OF_FUNCTIONS, "is for a PrimFunc (--function)")
    chips = cli_options.chips(args)
    if args.launch is None and args.file and (chips is not None or set(args.dump or ()) == {"isa"}):
        cli_options.refuse(args, inferred.OF_INFERRED, "is for launches: with --isa alone nothing runs")
        return _show_machine_code(args, chips or ())
    if inferred.is_inferred(args):
        return inferred.run_kernels(args)
    cli_options.refuse(args, OF_ISA, "is for --isa without --launch")
    cli_options.refuse(args, inferred.OF_INFERRED, "is for launches that are inferred: without --launch and --function")
    if args.launch is None:
        raise AdrenoSimError("expected FILE.cl, --launch SPEC.toml, or FILE.py with --function NAME, which runs a PrimFunc in it")
    _require_npz(args.save_outputs)
    report = _launch(args, args.file, args.variant)
    if args.save_outputs:
        _save_outputs(report, args.save_outputs)
    _write(report, args)
    return report.exit_code


def _rank(args: argparse.Namespace, launches: Sequence[tuple[str | None, str | None]]) -> int:
    """Run several launches, and list those that are right by their predicted times."""
    from ..base.errors import AdrenoSimError
    from ..launch_spec.ranking import rank_launches
    from ..render.launch.ranking import show_ranking, write_ranking
    from ..results.time_report import time_to_json

    if not args.time or args.launch is None:
        raise AdrenoSimError(
            "several kernels or variants: expected --launch SPEC.toml and --time, which ranks them by predicted time"
        )
    cli_options.refuse(args, (*OF_ONE, *OF_FUNCTIONS, *OF_ISA, "--function"), "is for one launch, and several are ranked")
    reports = [(" ".join(filter(None, (file, variant))), _launch(args, file, variant)) for file, variant in launches]
    ranking = rank_launches(reports)
    show_ranking(ranking, reports, report_stream(args))
    write_data(args, lambda: time_to_json(ranking) or {})
    if args.html and ranking is not None:
        write_ranking(args.html, ranking, args.launch, command_line(args))
    return max(report.exit_code for _, report in reports)


def _launch(args: argparse.Namespace, file: str | None, variant: str | None) -> LaunchReport:
    """Run what the launch file says, of this kernel file in place of its own, as this variant."""
    from ..base.allow import find_config
    from ..base.errors import BuildError
    from ..launch_spec.mending.launch import run_and_mend
    from ..launch_spec.read import read_launch
    from ..launch_spec.run import run_launch
    from ..launch_spec.values import parse_setting

    inside = _inside(args)
    launch = read_launch(
        Path(args.launch),
        variant or "",
        dict(map(parse_setting, args.set or ())),
        root=find_root(args.root),
        any_folder=args.unsafe_includes,
    )
    refuse_overwriting(args, launch.files)
    try:
        run: Callable[..., LaunchReport] = run_launch if args.no_patch else run_and_mend
        return run(
            launch,
            Path(file) if file else None,
            device=args.device,
            checks=args.checks,
            allow=find_config(Path.cwd()),
            strict=args.strict,
            variant=variant or "",
            inside=inside,
            explain=args.explain,
            unsafe_includes=args.unsafe_includes,
            compare_with=args.compare_with,
            keep_arrays=bool(args.save_outputs),
            keep_evidence=bool(args.html),
            counters=args.counters,
            chips=cli_options.chips(args),
            all_drivers=args.all_drivers,
            every_reading=args.every_reading,
            **cli_options.time_options(args),
        )
    except BuildError as error:
        write_build_error(args, error.diagnostics)
        raise
    finally:  # the facts about a launch that is refused, too
        if inside is not None:
            from ..render.launch.inside import inside_text

            sys.stdout.write(inside_text(inside))


def _show_machine_code(args: argparse.Namespace, chips: tuple[str, ...]) -> int:
    """Compile the kernels of a file to machine code, and run nothing."""
    from ..base.errors import BuildError, OptionError
    from ..launch_spec.machine_code import compile_machine_code
    from ..render.isa.text import assembly_text, show

    cli_options.refuse(args, OF_RUNS, "is for a kernel that runs: it needs --launch SPEC.toml")
    inside = _inside(args)
    if inside is not None and inside.wanted != {"isa"}:
        raise OptionError("dump", "without --launch there is only isa: expected --dump isa, or --launch SPEC.toml")
    try:
        report = compile_machine_code(
            args.file, options=args.build_options or "", device=args.device, chips=chips,
            max_registers=args.max_registers, min_waves=args.min_waves, against=args.against,
        )  # fmt: skip
    except BuildError as error:
        write_build_error(args, error.diagnostics)
        raise
    if args.dump:
        sys.stdout.write(assembly_text(report.kernels))
    show(report, report_stream(args))
    write_data(args, report.as_json)
    return report.exit_code


def _require_npz(file: str | None) -> None:
    from ..base.errors import OptionError

    if file and not file.endswith(".npz"):
        raise OptionError("save-outputs", f"{file}: expected a file named .npz, as launch files read it")


def _save_outputs(report: LaunchReport, file: str) -> None:
    """Write the arrays of the report, or let it say that there are none."""
    from ..base.array_files import write_npz
    from ..base.output_file import open_output

    if report.arrays is None:
        report.unchecked.append(f"outputs: {file} was not written, as the kernel was not run")
        return
    with open_output(file) as written:
        write_npz(written, report.arrays)


def _prim_func(args: argparse.Namespace) -> int:
    """Compile and run a PrimFunc; the report is that of a check."""
    from ..base.errors import AdrenoSimError

    cli_options.refuse(args, OF_LAUNCHES, "is for a kernel with a launch file, not for a PrimFunc (--function)")
    if args.file is None:
        raise AdrenoSimError("--function: no file: expected a .py file with the PrimFunc")
    from ..compiler.check.kernel import check_kernel
    from ..compiler.check.kernel_arguments import read_arrays
    from ..compiler.importers.load import load_function
    from ..render.report import html, text
    from ..results import encode

    given = {} if args.input is None else read_arrays(args.input)
    expected = None if args.expected is None else read_arrays(args.expected)
    report = check_kernel(
        load_function(args.file, args.function),
        {**given, **dict(args.scalar or ())},
        expected,
        device=cli_options.device_for_all_drivers(args),
        checks=cli_options.level_of_checks(args.device, args.checks),
        name=args.function,
        strict=args.strict,
        explain=args.explain,
        counters=args.counters,
        every_reading=args.every_reading,
        keep_going=args.keep_going,
        compare_with=args.compare_with,
        **cli_options.time_options(args),
        **cli_options.given_options(args, "--target", "--pipeline", "--without-fix", "--shape", "--seed"),
    )
    text.show(report, report_stream(args))
    write_data(args, lambda: encode.report_to_json(report))
    if args.html:
        html.write_html(args.html, report, command_line(args))
    sources = {f"{name}.cl": source for name, source in report.sources.items()}
    write_model_outputs(args, args.file, report.findings, report.allowed, sources, report.checks)
    return report.exit_code


def _scalar(text: str) -> tuple[str, int | float]:
    """NAME=VALUE as (name, number)."""
    name, equals, value = text.partition("=")
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            if name and equals:
                return name, kind(value)
    raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=VALUE, as causal=1 or scale=0.125")


def _inside(args: argparse.Namespace) -> Inside | None:
    """What is to be shown of the launch; None if nothing is. OptionError if standard output has another use."""
    if not args.dump:
        return None
    from ..base.errors import OptionError
    from ..device.inspection import Inside

    if args.json == "-":
        raise OptionError("dump", "both it and --json - write to standard output; expected a file after --json")
    return Inside(frozenset(args.dump))


def _write(report: LaunchReport, args: argparse.Namespace) -> None:
    from ..render.launch import text

    def to_json() -> dict[str, Any]:
        from ..render.launch import encode

        return encode.to_json(report)

    text.show(report, report_stream(args))
    write_data(args, to_json)
    if args.html:
        from ..render.launch import html

        html.write_html(args.html, report, command_line(args))
    write_outputs(args, report.findings, report.allowed, checks=report.checks)
