"""`adreno-sim tvm-runtime`: give a TVM that was built without OpenCL its OpenCL runtime."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .output import declare

DETAILS = """\
TVM's packages compile for OpenCL and run nothing there. This compiles TVM's own OpenCL runtime, three files, from a checkout of
the same version (about half a minute, with g++). From then on TVM finds it when it is imported, and tvm.opencl() is whatever
device OpenCL has: a GPU, or the simulated Adreno under adreno-sim run.

    adreno-sim tvm-runtime --source tvm               # with the submodule 3rdparty/OpenCL-Headers
    adreno-sim run -- python -c "import tvm; print(tvm.opencl().device_name)"

exit code: 0 built; 2 something is missing, or does not compile; 3 a version of TVM that takes no such runtime
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "tvm-runtime",
        help="give a TVM that was built without OpenCL its own OpenCL runtime",
        description="Compile TVM's OpenCL runtime for the installed TVM, so that TVM itself runs on an OpenCL device.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--source", metavar="CHECKOUT", required=True, help="a checkout of TVM of the installed version")
    parser.add_argument("--headers", metavar="FOLDER", help="where CL/cl.h lies (default: the checkout's submodule, the system)")
    declare(parser, (), ("--source", "--headers"))
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from ..compiler.tvm_bridge.opencl_runtime import build_runtime

    place = build_runtime(Path(args.source), Path(args.headers) if args.headers else None)
    print(f"{place}: TVM's OpenCL runtime; TVM loads it when it is imported")
    return 0
