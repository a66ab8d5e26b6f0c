"""`adreno-sim layers`: the layers of a model by number, as --skip-layers and `recast` count them."""

from __future__ import annotations

import argparse
from typing import Any

from . import options
from .output import declare, report_stream, write_data

DETAILS = """\
A layer's number is its position, in execution order, among the calls of the operators of --ops; negative numbers count from the
end. check and bundle count convolutions (nn.conv2d), as this command does by default.

    adreno-sim layers model.onnx
    adreno-sim check model.onnx --recast float16:float32 --skip-layers 0
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "layers",
        help="list and count a model's layers, by the numbers that --skip-layers takes",
        description="List the convolutions of a model, or the calls of other operators, in execution order, and count them.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a model (.onnx, .pt2, .py)")
    parser.add_argument(
        "--ops",
        default="nn.conv2d",
        metavar="NAME,...",
        help="operators to list, or all: convolutions and matrix products (default: nn.conv2d)",
    )
    options.add(parser, "--shape", "--input-value", "--seed")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON (- = standard output)")
    declare(parser, ("--json",), ("model",))
    parser.set_defaults(run=_layers)


def _layers(args: argparse.Namespace) -> int:
    from ..compiler.importers.load import load_model
    from ..compiler.layers.listing import list_layers
    from ..render.layers import text

    given = options.given_options(args, "--shape", "--input-value", "--seed")
    model = load_model(args.model, given.get("shapes"), given.get("seed", 0), values=given.get("input_values"))
    names = None if args.ops == "all" else [name for name in args.ops.split(",") if name]
    found = list_layers(model.module, names, model=model.name)
    write_data(args, found.as_json)
    text.show(found, report_stream(args))
    return 0
