"""`adreno-sim debug`: a launch that is stopped, inspected, and run backwards."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import cache
from .. import options as cli_options
from ..output import declare
from ..shell.named_files import find_root, refuse_other_kinds

if TYPE_CHECKING:
    from ...debugger.open import Debuggee
    from ...debugger.session import DebugSession

OF_LAUNCH_FILES = ("file", "--variant", "--set", "--root", "--unsafe-includes")

DETAILS = """\
Commands (help lists them; docs/debugger.md):

    break 12 if i == 3      break item 17     break finding      continue
    step  next  finish      back  back-next   back-continue      goto MOMENT
    print x  print x --all  print in[0:8]     print img(3, 4)    who out[10]
    info items              info locals       where              list

    adreno-sim debug --replay trace.asim --launch 3  # a launch of a recording (replay --list)

The commands come from the terminal, from standard input, or from --commands FILE, which ends at the first that makes no sense.

Work-items run one after the other, those of a group to the next barrier, at level bounds: the same moments in every run.

exit code: 0 ok; 2 usage or bad input, as a command of a script that makes no sense; 3 unsupported
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "debug",
        help="stop a launch at lines, show its variables, step forwards and backwards",
        description="Run one OpenCL C kernel as a launch file says, under a debugger: in the terminal, or as a debug adapter.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="the kernel, a .cl (default: the launch file's source)")
    parser.add_argument(
        "--launch",
        metavar="SPEC.toml",
        help="what to run it with, as of the command kernel; with --replay the number of a launch",
    )
    parser.add_argument("--replay", metavar="RECORDING", help="a launch of a recording, with the memory that it found")
    parser.add_argument("--variant", metavar="NAME", help="with the keys of [variant.NAME] in the launch file")
    parser.add_argument(
        "--set", action="append", metavar="NAME=NUMBER", help="another number for one of the launch file's [values]"
    )
    parser.add_argument(
        "--root", metavar="FOLDER", help="the folder below which the launch file may name files (default: its own)"
    )
    parser.add_argument(
        "--device",
        metavar="DEVICE",
        help="a simulated device, as of check (default: the launch file's, else ADRENO_SIM_DEVICE, ...)",
    )
    parser.add_argument(
        "--dap",
        action="store_true",
        help="be a debug adapter on standard input and output, as an editor starts it; its request launch may name the files",
    )
    parser.add_argument("--commands", metavar="FILE", help="run these commands and end, at the first that makes no sense")
    parser.add_argument(
        "--unsafe-includes",
        action="store_true",
        help="let the kernel read any file; without it, those below its own folder and below the folders of -I",
    )
    cache.add_option(parser)
    declare(parser, (), ("file", "--launch", "--commands", "--replay"))
    parser.set_defaults(run=_debug)


def _debug(args: argparse.Namespace) -> int:
    if args.dap:
        cli_options.refuse(args, ("--commands", "--replay"), "is for the terminal, not for --dap")
        return _serve_editor(args)
    from ...debugger.session import DebugSession

    script = None if args.commands is None else _read_script(args.commands)
    with _opened(args) as debuggee:
        return _run_session(DebugSession(debuggee), script)


@contextlib.contextmanager
def _opened(args: argparse.Namespace) -> Iterator[Debuggee]:
    """What is debugged, of a launch file or a recording."""
    if args.replay is None:
        yield _open(args)
        return
    from .recording import open_recorded

    cli_options.refuse(args, OF_LAUNCH_FILES, "is for a launch file, not for --replay")
    with open_recorded(args.replay, args.launch, args.device) as debuggee:
        yield debuggee


def _run_session(session: DebugSession, script: list[str] | None) -> int:
    from ...debugger.terminal import ask_lines, read_lines, run_terminal

    try:
        if script is not None:
            return run_terminal(session, read_lines(script, sys.stdout), sys.stdout, stops_at_errors=True)
        if sys.stdin is not None and sys.stdin.isatty():
            return run_terminal(session, ask_lines(sys.stdout), sys.stdout, stops_at_errors=False)
        return run_terminal(session, read_lines(sys.stdin or (), sys.stdout), sys.stdout, stops_at_errors=True)
    finally:
        session.close()


def _serve_editor(args: argparse.Namespace) -> int:
    """Speaks the protocol on what standard output was; whatever else prints goes to standard error."""
    from ...base.errors import OptionError
    from ...debugger.adapter.adapter import run_adapter

    given = {
        "program": "file", "launch": "launch", "variant": "variant", "device": "device", "root": "root",
    }  # fmt: skip

    def open(request: Mapping[str, Any]) -> Debuggee:
        for name, option in given.items():
            value = request.get(name)
            if value is not None and not isinstance(value, str):
                raise OptionError(name, f"expected a text, got {value!r:.40}")
            if value is not None:
                setattr(args, option, value)
        return _open(args)

    sys.stdout.flush()
    # Without a buffer: a thread waits in it for ever, and would keep its lock.
    with os.fdopen(os.dup(0), "rb", buffering=0) as source, os.fdopen(os.dup(1), "wb") as target:
        kept = os.dup(1)
        os.dup2(2, 1)
        try:
            return run_adapter(source, target, open)
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def _read_script(file: str) -> list[str]:
    from ...base.bounded_read import read_bytes
    from ...base.errors import OptionError
    from ...base.text.spelling import decode

    try:
        return decode(read_bytes(Path(file))).splitlines()
    except OSError as error:
        raise OptionError("commands", f"{file}: cannot be read: {error.strerror or error}") from None


def _open(args: argparse.Namespace) -> Debuggee:
    """Builds the kernel, and makes its arguments."""
    from ...base.errors import AdrenoSimError
    from ...debugger.open import open_debuggee
    from ...launch_spec.bind import RejectedCall
    from ...launch_spec.read import read_launch
    from ...launch_spec.values import parse_setting

    refuse_other_kinds([args.file], args.launch)
    if args.launch is None:
        raise AdrenoSimError("--launch SPEC.toml says what a kernel is run with (adreno-sim init FILE.cl writes one)")
    root = find_root(args.root)
    launch = read_launch(
        Path(args.launch),
        args.variant or "",
        dict(map(parse_setting, args.set or ())),
        root=root,
        any_folder=args.unsafe_includes,
    )
    try:
        return open_debuggee(
            launch, Path(args.file) if args.file else None, device=args.device, unsafe_includes=args.unsafe_includes
        )
    except RejectedCall as refused:
        raise AdrenoSimError(f"the device refuses the launch: {refused}") from None
