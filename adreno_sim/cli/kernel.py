"""`adreno-sim kernel`: run and check one hand-written kernel as a launch file says."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import cache
from .output import add_outputs, declare, refuse_overwriting, report_stream, write_build_error, write_data, write_outputs

if TYPE_CHECKING:
    from ..device.inspection import Inside
    from ..results.launch_report import LaunchReport

DETAILS = """\
SPEC.toml gives the work sizes, the arguments in order, and what is expected:

    global_size = [64]
    [[argument]]
    kind = "buffer"             # or image2d, image3d, ..., scalar, local, sampler
    dtype = "float32"
    data = {fill = "random", seed = 1}
    count = 64
    [[output]]
    argument = 0
    data = {file = "expected.npy"}

exit code: 0 ok; 1 findings: errors, wrong outputs, with --strict also warnings, or findings other than the launch file
expects; 2 usage or bad input, as a kernel that does not compile; 3 unsupported
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "kernel",
        help="run and check one hand-written kernel",
        description="Run one OpenCL C kernel on a device as a launch file says, report what is wrong with it.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", metavar="FILE.cl", help="the kernel (default: the launch file's source)")
    parser.add_argument("--launch", required=True, metavar="SPEC.toml", help="what to run it with")
    parser.add_argument("--variant", default="", metavar="NAME", help="with the keys of [variant.NAME] in the launch file")
    parser.add_argument(
        "--device", metavar="DEVICE", help="as of check (default: the launch file's, else ADRENO_SIM_DEVICE, ...)"
    )
    parser.add_argument("--checks", choices=("off", "bounds", "full"), help="default: the launch file's, else bounds")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument(
        "--unsafe-includes",
        action="store_true",
        help="let the kernel read any file; without it, those below its own folder and below the folders of -I",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show findings under their source lines, and why an access is not proven in range",
    )
    parser.add_argument(
        "--dump",
        action="append",
        choices=("ir", "llvm", "proofs"),
        help="print the kernel IR, the LLVM text that ran, or what is proven of each access; may be given several times "
        "(the report then goes to standard error)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- = standard output)")
    add_outputs(parser)
    cache.add_option(parser)
    declare(parser, ("--json", "--sarif"), ("file", "--launch"))
    parser.set_defaults(run=_kernel)


def _kernel(args: argparse.Namespace) -> int:
    from ..base.allow import find_config
    from ..base.errors import BuildError
    from ..launch_spec.read import read_launch
    from ..launch_spec.run import run_launch

    inside = _inside(args)
    launch = read_launch(Path(args.launch), args.variant)
    refuse_overwriting(args, launch.files)
    try:
        report = run_launch(
            launch,
            Path(args.file) if args.file else None,
            device=args.device,
            checks=args.checks,
            allow=find_config(Path.cwd()),
            strict=args.strict,
            variant=args.variant,
            inside=inside,
            explain=args.explain,
            unsafe_includes=args.unsafe_includes,
        )
    except BuildError as error:
        write_build_error(args, error.diagnostics)
        raise
    finally:  # what is known of a launch that is refused, too
        if inside is not None:
            from ..render.launch.inside import inside_text

            sys.stdout.write(inside_text(inside))
    _write(report, args)
    return report.exit_code


def _inside(args: argparse.Namespace) -> Inside | None:
    """What is to be shown of the launch; None if nothing is. OptionError where standard output has another use."""
    if not args.dump:
        return None
    from ..base.errors import OptionError
    from ..device.inspection import Inside

    if args.json == "-":
        raise OptionError("dump", "both it and --json - write to standard output; expected a file after --json")
    return Inside(frozenset(args.dump))


def _write(report: LaunchReport, args: argparse.Namespace) -> None:
    from ..render.launch import encode, text

    text.show(report, report_stream(args), args.explain)
    write_data(args, lambda: encode.to_json(report))
    write_outputs(args, report.findings, report.allowed)
