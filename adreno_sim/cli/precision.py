"""`adreno-sim precision`: how wrong each layer gets in float16, and which to leave alone to stay within a bound."""

from __future__ import annotations

import argparse
from typing import Any

from . import cache, options
from .output import declare, report_stream, write_data

EXIT_OK, EXIT_FINDINGS = 0, 1

DETAILS = """\
Errors are the largest |difference| over max(|value|, rms). Each layer is judged alone on TVM's llvm target, on the operands
it has in the unchanged network; then the whole network is run on the device with the worst layers left in their own type,
as few as keep its outputs within the bound, measured from those of the unchanged network without rounding. A device that
computes the recast network wrongly fails, whatever the bound.

exit code: 0 the bound is met; 1 it is not, or the device is wrong; 2 usage or bad input; 3 unsupported
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "precision",
        help="error of every layer in float16, and which layers to leave in float32",
        description="Recast a model's convolutions and matrix products, measure the error, search what to leave alone.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a model (.onnx, .pt2, .py)")
    parser.add_argument("--dtype", default="float16", metavar="TYPE", help="of the operands (default: float16)")
    parser.add_argument(
        "--out-dtype",
        default="float32",
        metavar="TYPE",
        help="of results and sums (default: float32, which Adreno computes natively)",
    )
    parser.add_argument(
        "--ops", default="nn.conv2d,matmul", metavar="NAME,...", help="operators to recast (default: nn.conv2d,matmul)"
    )
    parser.add_argument("--bound", type=float, default=0.01, metavar="E", help="largest error of an output (default: 0.01)")
    parser.add_argument("--runs", type=_runs, default=12, metavar="N", help="runs of the whole network at most (default: 12)")
    parser.add_argument("--device", metavar="DEVICE", help="as of check (default: ADRENO_SIM_DEVICE, else sim:adreno-740)")
    options.add(parser, "--target", "--rule", "--weights", "--input", "--shape", "--input-value", "--seed")
    parser.add_argument("--save", metavar="FILE.asim", help="save the model compiled with the layers found")
    parser.add_argument("--json", metavar="FILE", help="write the figures (- = standard output)")
    cache.add_option(parser)
    declare(parser, ("--json", "--save"), ("model", "--input"), bundles=("--save",))
    parser.set_defaults(run=_precision)


def _runs(text: str) -> int:
    if not text.isdigit() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r}: expected 2 or more")
    return int(text)


def _precision(args: argparse.Namespace) -> int:
    from ..backends.open import open_device
    from ..compiler.precision.report import precision
    from ..render.precision import text

    device = open_device(args.device)
    options.refuse_counters(device.options)
    report, compiled = precision(
        args.model, args.input, device=device, dtype=args.dtype, out_dtype=args.out_dtype,
        ops=[name for name in args.ops.split(",") if name], bound=args.bound, most_runs=args.runs,
        **options.given_options(args, "--target", "--rule", "--weights", "--shape", "--input-value", "--seed"),
    )  # fmt: skip
    if args.save and compiled is not None:
        compiled.save(args.save)
    write_data(args, report.as_json)
    file = report_stream(args)
    text.show(report, file)
    if args.save and compiled is None:
        print(f"nothing was written to {args.save}", file=file)
    return EXIT_OK if report.ok else EXIT_FINDINGS
