"""The command line. Everything heavy is imported by the command that needs it: `adreno-sim --help` stays immediate.

Exit codes: 0 ok, 1 findings, 2 usage or bad input, 3 unsupported, 4 a bug in this program, 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from ..base.garbage import begin_collecting
from ..base.processes import interrupts
from ..base.text.spelling import shorten, spell_line, split_lines
from ..base.text.stream import shown_streams
from ..base.version import __version__
from . import cache, options, sandbox
from .output import refuse_outputs, write_failure
from .shell import profile_self
from .shell.computing import COMPUTING
from .shell.parser import EXIT_USAGE, LONGEST_LINE, Parser
from .shell.project import apply_project
from .streams import drop_output, open_closed_streams

if TYPE_CHECKING:
    from ..icd.start.standby import Standby

EXIT_UNSUPPORTED, EXIT_INTERNAL = 3, 4

COMMANDS = {
    "check": "check",
    "bundle": "bundle",
    "cache": "cache",
    "debug": "debug.command",
    "calibrate": "calibrate.command",
    "doctor": "doctor",
    "explain": "explain.command",
    "footprint": "footprint",
    "init": "init.command",
    "kernel": "kernel",
    "layers": "layers",
    "precision": "precision",
    "prune": "prune.command",
    "replay": "replay",
    "reproduce": "reproduce",
    "run": "run",
    "scopes": "scopes",
    "sweep": "sweep",
    "tune": "tune",
    "tvm-runtime": "tvm_runtime",
    "devices": "devices",
    "layout": "layout",
    "completion": "shell.completion",
}
"""The module of each command, by the command's name: only the given command's is imported, and its `add` adds the parser."""

LIMITS = {
    errno.EMFILE: "more open files than this process may have (ulimit -n)",
    errno.ENFILE: "more open files than this system has",
    errno.ENOMEM: "the host has not enough memory for this",
}
"""Errors of the system where a limit ends the work, and not a defect."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of the system where what is printed is not taken: a full disk, a limit on the size of files, a terminal that is gone."""

IMPORTS = "imports"
"""Attribute of parsed arguments: a function of them that imports what the command needs for its usual work."""

TRACEBACK = "ADRENO_SIM_TRACEBACK"
"""Environment variable: not empty = show the traceback of an internal error."""


EXAMPLES = """\
examples:
  adreno-sim kernel conv.cl                # a kernel by hand: what is wrong with it
  adreno-sim check model.onnx              # a network: every kernel, its memory plan, its outputs
  adreno-sim run -- ./program args         # any OpenCL program, unmodified

exit code: 0 ok; 1 findings; 2 usage or bad input; 3 unsupported; 4 a bug in this program; 130 interrupted
"""


def main(argv: Sequence[str] | None = None, is_program: bool = False, standby: Standby | None = None) -> int:
    """Run the command line; returns the exit code. Errors of the user's are one line on stderr, without a traceback.

    is_program: this process is the command's alone, which may restrict it for good (`sandbox.py`). standby: the process
    from which the driver's servers come, which was begun beside it.
    """
    open_closed_streams()
    with shown_streams():
        return _run_shown(argv, is_program, standby)


def _run_shown(argv: Sequence[str] | None, is_program: bool, standby: Standby | None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(words[0] if words else "")
    try:
        if not words:
            parser.print_help()
            return 0
        args, unknown = parser.parse_known_args(words)
        args.parser.refuse_unknown(unknown)
        args.argv, args.standby = words, standby
    except SystemExit as end:
        return int(end.code or 0)
    try:
        with interrupts.watching_interrupts():
            code, message = _run(args, is_program)
            if getattr(args, "progress_file", None):
                from ..base.progress import note_end

                note_end()
            if interrupts.was_interrupted():  # a library made another error of it, or went on
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        code, message = interrupts.EXIT_INTERRUPTED, "error: interrupted"
    if message:
        print("\n".join(map(_shorten, split_lines(message))), file=sys.stderr)
    return code


def _run(args: argparse.Namespace, is_program: bool) -> tuple[int, str]:
    """Run a command; the exit code, and the line that says why there is no result ("" if there is one). What a compiler says
    begins with file, line and column, as editors read them."""
    code, message, said = _try(args, is_program)
    if not message:
        return code, ""
    told = message if _begins_with_place(message, said) else f"error: {message}"
    write_failure(args, code, told, said)
    return code, told


def _try(args: argparse.Namespace, is_program: bool) -> tuple[int, str, Sequence[object]]:
    """As `_run`, without the word error, and what a compiler said."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return EXIT_USAGE, "the working folder is gone: change to another one", ()
    try:
        apply_project(args)
        refuse_outputs(args)
        with cache.cache_option(args), sandbox.sandbox_option(args):
            sandbox.enter_sandbox(args, is_program)
            if getattr(args, "progress_file", None):
                from ..base.processes import isolation

                isolation.begin(args.progress_file)  # behind the wall: it starts a thread
            with profile_self.profile_option(args):
                _import_ahead(args, is_program)
                code = int(args.run(args))
        sys.stdout.flush()
        return code, "", ()
    except BrokenPipeError:  # the reader of our output went away
        drop_output()
        return EXIT_USAGE, "", ()
    except Exception as error:
        from ..base.errors import AdrenoSimError, OptionError, show_error
        from ..base.installed.extras import explain_import

        error = explain_import(error) or error
        if isinstance(error, OptionError):
            return error.exit_code, spell_line(f"{options.flag_of(error.option)}: {error.reason}"), ()
        if isinstance(error, AdrenoSimError):
            return error.exit_code, show_error(error), getattr(error, "diagnostics", ())
        if os.environ.get(TRACEBACK):
            raise
        if isinstance(error, OSError) and (why := _explain_system(error)):
            return EXIT_USAGE, spell_line(why), ()
        if isinstance(error, MemoryError):
            return EXIT_USAGE, spell_line(f"the host has not enough memory for this: {error or 'out of memory'}"), ()
        if isinstance(error, RecursionError):
            return EXIT_UNSUPPORTED, "unsupported: nested too deeply to be read", ()
        text = split_lines(f"internal error: {type(error).__name__}: {error}")[0]
        return EXIT_INTERNAL, f"{spell_line(text)} (a bug; {TRACEBACK}=1 shows where)", ()


def _import_ahead(args: argparse.Namespace, is_program: bool) -> None:
    """Import what the command names as needed by its usual work. The garbage collector of a program, which was off until now,
    begins behind these imports, and skips their objects: they live as long as the process."""
    if is_program and args.command_name in COMPUTING and not sandbox.starts_others(args):
        from ..base.processes.blas_threads import import_numpy

        import_numpy()
    getattr(args, IMPORTS, lambda _: None)(args)
    if is_program:
        begin_collecting()


def _begins_with_place(message: str, diagnostics: Sequence[object]) -> bool:
    """Whether an error's text is a compiler's, and begins with the place of what is wrong."""
    file, line = (getattr(next(iter(diagnostics), None), name, None) for name in ("file", "line"))
    return bool(file and line) and message.startswith(spell_line(f"{file}:{line}:"))


def _explain_system(error: OSError) -> str:
    """What the system lacks, if an unexpected error is not a bug; "" if it may be one."""
    from ..base.processes.scratch import find_no_folder

    where = "" if error.filename is None else f" {error.filename}"
    if error.errno in FULL:
        drop_output()
        return f"cannot write{where}: {error.strerror}"
    if error.errno in LIMITS:
        return f"{LIMITS[error.errno]}: {error.strerror}{where}"
    if where and error.errno == errno.ENAMETOOLONG:
        return f"{where[1:61]}...: {error.strerror}"
    return find_no_folder()


def _shorten(line: str) -> str:
    """A line of an error without its middle where it quotes a name or value of thousands of characters."""
    return shorten(line, LONGEST_LINE)


def _parser(only: str = "") -> Parser:
    """The parser of all commands, or of the command `only`, if there is one of this name: no other can follow."""
    parser = Parser(prog="adreno-sim", description="A simulated Adreno GPU for testing compilers.", epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"adreno-sim {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    alone = only in COMMANDS and only != "completion"  # which writes a script of all
    for module in [COMMANDS[only]] if alone else COMMANDS.values():
        import_module(f".{module}", __package__).add(commands)
    for name, command in commands.choices.items():
        sandbox.add_option(name, command)
        command.set_defaults(parser=command)
        command.group_options()
    return parser
