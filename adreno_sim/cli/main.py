"""The command line. Everything heavy is imported by the command that needs it: `adreno-sim --help` stays immediate.

Exit codes: 0 ok, 1 findings, 2 usage or bad input, 3 unsupported, 4 a bug in this program, 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from ..base import isolation
from ..base.version import __version__
from . import bundle, cache, check, devices, doctor, footprint, kernel, layout, options, precision, reproduce, scopes, sweep, tune
from .output import refuse_outputs
from .streams import drop_output, open_closed_streams

EXIT_USAGE, EXIT_UNSUPPORTED, EXIT_INTERNAL, EXIT_INTERRUPTED = 2, 3, 4, 130

TRACEBACK = "ADRENO_SIM_TRACEBACK"
"""Environment variable: not empty = show the traceback of an internal error."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"error: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. Errors of the user's are one line on stderr, without a traceback."""
    open_closed_streams()
    try:
        args = _parser().parse_args(argv)
        args.argv = list(sys.argv[1:] if argv is None else argv)
    except SystemExit as end:
        return int(end.code or 0)
    if getattr(args, "progress_file", None):
        isolation.end_with_parent()
    try:
        refuse_outputs(args)
        with cache.cache_option(args):
            code = int(args.run(args))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _complain("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader of our output went away
        drop_output()
        return EXIT_USAGE
    except Exception as error:
        from ..base.errors import AdrenoSimError, OptionError

        if isinstance(error, OptionError):
            return _complain(f"{options.flag_of(error.option)}: {error.reason}", error.exit_code)
        if isinstance(error, AdrenoSimError):
            return _complain(str(error), error.exit_code)
        if os.environ.get(TRACEBACK):
            raise
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            drop_output()
            return _complain(f"cannot write: {error.strerror}", EXIT_USAGE)
        if isinstance(error, OSError) and error.filename is not None and error.errno == errno.ENAMETOOLONG:
            return _complain(f"{str(error.filename)[:60]}...: {error.strerror}", EXIT_USAGE)
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
    check.add(commands)
    bundle.add(commands)
    cache.add(commands)
    doctor.add(commands)
    footprint.add(commands)
    kernel.add(commands)
    precision.add(commands)
    reproduce.add(commands)
    scopes.add(commands)
    sweep.add(commands)
    tune.add(commands)
    devices.add(commands)
    layout.add(commands)
    return parser
