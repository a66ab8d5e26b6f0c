"""`adreno-sim bundle`: a compiled model as one file that runs, and is checked, where TVM is not installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import cache, options
from .output import declare


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "bundle",
        help="compile a model into one file that runs without TVM",
        description="Compile a model for Adreno and save kernels, host program, constants and plan as one file; with "
        "--golden also what every call of one run should compute, so that check judges the file where TVM is not installed.",
    )
    parser.add_argument("model", metavar="MODEL", help="what to compile (.onnx, .pt2, .py)")
    parser.add_argument("-o", "--output", required=True, metavar="FILE.asim", help="the bundle to write")
    parser.add_argument("--golden", action="store_true", help="put golden results in")
    parser.add_argument("--device", metavar="DEVICE", help="device whose limits to compile for (default: as of check)")
    options.add(parser, *options.COMPILE, "--input", "--shape", "--seed")
    cache.add_option(parser)
    declare(parser, ("--output",), ("model", "--input"), bundles=("--output",))
    parser.set_defaults(run=_bundle)


def _bundle(args: argparse.Namespace) -> int:
    from ..base import progress

    with progress.show_progress(sys.stderr) as bar:
        from ..compiler.check.bundle import make_bundle

        @contextmanager
        def stage(name: str) -> Iterator[None]:
            bar.stage(name)
            yield

        model = make_bundle(
            args.model,
            args.output,
            golden=args.golden,
            inputs=args.input,
            device=args.device,
            stage=stage,
            **options.given_options(args, *options.COMPILE, "--shape", "--seed"),
        )
    calls = f", golden results of {len(model.golden.calls)} calls" if model.golden else ""
    size = f", {Path(args.output).stat().st_size:,} bytes" if Path(args.output).is_file() else ""
    print(f"{args.output}: {model.name} for {model.target}, {len(model.kernels)} kernels{calls}{size}")
    return 0
