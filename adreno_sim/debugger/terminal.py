"""The debugger in a terminal: commands from a person, a pipe or a file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from ..base.processes.interrupts import forget_interrupt
from ..base.text.spelling import spell_line
from .commands import is_quit, run_command
from .session import DebugSession
from .shown import where_it_stands
from .values import DebugError

PROMPT = "(adreno-sim) "


def ask_lines(out: TextIO) -> Iterator[str]:
    """Yields the lines that a person types, until the end of input."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 (input() then has a history)
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            out.write("\n")
            return
        except KeyboardInterrupt:
            forget_interrupt()
            out.write("\n")


def read_lines(lines: Iterable[str], out: TextIO) -> Iterator[str]:
    """Yields the commands of a script, and shows each as it is run. Empty lines and comments (#) are not commands."""
    for line in lines:
        line = line.strip()
        if line and not line.startswith("#"):
            out.write(f"{PROMPT}{spell_line(line)}\n")
            yield line


def run_terminal(session: DebugSession, lines: Iterator[str], out: TextIO, stops_at_errors: bool) -> int:
    """Runs commands until one quits. Returns the exit code: 2 after one that makes no sense, where a script then stops."""
    write = _writer(out)
    write(where_it_stands(session))
    last = ""
    for line in lines:
        line = line.strip() or last
        if not line:
            continue
        if is_quit(line):
            break
        try:
            write(run_command(session, line))
        except DebugError as error:
            write([f"error: {error}"])
            if stops_at_errors:
                return 2
        last = line if line.split()[0] in ("step", "s", "next", "n", "back", "back-next", "bn") else ""
    return 0


def _writer(out: TextIO) -> Callable[[Iterable[str]], None]:
    def write(lines: Iterable[str]) -> None:
        for line in lines:
            out.write(spell_line(line) + "\n")
        out.flush()

    return write
