"""`adreno-sim init`: a launch file for a kernel, or a pytest file and a CI workflow for a model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .. import cache
from .. import options as cli_options
from ..output import declare
from ..shell.named_files import KERNELS

MODELS = (".onnx", ".pt2", ".py", ".json", ".asim")
OF_KERNELS = ("--kernel", "--options", "--device")
OF_MODELS = ("--workflow",)
HOSTS = ("github", "gitlab")

DETAILS = """\
FILE.cl       launch.toml: arguments, work sizes and contents guessed from the kernel's code; every guess is a line marked DECIDE.
              It is tried once on a simulated device, and sizes that are too small for the trial are made larger.
MODEL.onnx    test_MODEL.py, for pytest; with --workflow also a workflow for GitHub or GitLab (run it in the repository's root).
              So for .pt2, .py, .json and .asim.

A file that exists is left alone, unless --force is given.

exit code: 0 written; 2 usage or bad input, as a kernel that does not compile; 3 unsupported
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "init",
        help="write the first files for a kernel (a launch file) or a model (a pytest file, a CI workflow)",
        description="Write a launch file for a kernel, or a pytest file and a CI workflow for a model.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="a kernel (.cl), or a model (.onnx, .pt2, .py, .json, .asim)")
    parser.add_argument("-o", "--output", metavar="FILE", help="what to write (default: launch.toml, or test_MODEL.py)")
    parser.add_argument("--force", action="store_true", help="write over files that exist")
    parser.add_argument("--kernel", metavar="NAME", help="the kernel, of a source with several")
    parser.add_argument("--options", metavar="TEXT", help='build options of the kernel, as --options="-DTILE=16 -I include"')
    parser.add_argument("--device", metavar="DEVICE", help="the simulated device of the launch (default: none is named)")
    parser.add_argument("--workflow", choices=HOSTS, help="also write a CI workflow that checks the model")
    cache.add_option(parser)
    declare(parser, ("--output",), ("file",))
    parser.set_defaults(run=_init)


def _init(args: argparse.Namespace) -> int:
    from ...base.errors import AdrenoSimError

    if Path(args.file).suffix.lower() in KERNELS:
        from .kernel import init_kernel

        cli_options.refuse(args, OF_MODELS, f"is for models; {args.file} is a kernel")
        init_kernel(args)
        return 0
    from ...compiler.importers.module_file import split_name

    if split_name(args.file)[0].suffix.lower() in MODELS:
        from .model import init_model

        cli_options.refuse(args, OF_KERNELS, f"is for kernels; {args.file} is a model")
        init_model(args)
    else:
        raise AdrenoSimError(f"{args.file}: expected a kernel ({', '.join(KERNELS)}) or a model ({', '.join(MODELS)})")
    return 0
