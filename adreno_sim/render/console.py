"""Where text reports are printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 220
"""Columns where the output is not a terminal."""


def open_console(file: IO[str]) -> Console:
    """A console on `file`, as wide as its terminal or WIDTH."""
    from rich.console import Console

    console = Console(file=file, highlight=False)
    return console if console.is_terminal else Console(file=file, highlight=False, width=WIDTH)


def teller(console: Console) -> Callable[[str], None]:
    """Prints a line as it is, however long."""
    return lambda text: console.print(text, soft_wrap=True, markup=False)
