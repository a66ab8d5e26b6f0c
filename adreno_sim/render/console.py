"""Where text reports are printed. What they say of foreign names and sources is shown, whoever forgets to ask for it."""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any, cast

from ..base.text.spelling import spell_line, spell_lines
from ..base.text.stream import show_on, styled

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDTH = 220
"""Columns where the output is not a terminal."""


Span = tuple[str, str]
"""Text and its style, "" for none."""


class _LinesOnly:
    """A console on a file without a terminal. A line needs no rich there, whose import takes as long as many a verdict; what
    else is asked of the console, as tables ask, is asked of rich's."""

    is_terminal = False
    width = WIDTH

    def __init__(self, file: IO[str]):
        self._file = file

    @property
    def encoding(self) -> str:
        return (getattr(self._file, "encoding", None) or "utf-8").lower()

    def write_line(self, line: str) -> None:
        self._file.write(f"{line}\n")
        self._file.flush()

    @functools.cached_property
    def _rich(self) -> Console:
        return _console_class()(file=self._file, highlight=False, emoji=False, width=WIDTH)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rich, name)


def open_console(file: IO[str]) -> Console:
    """A console on `file`, as wide as its terminal or WIDTH."""
    shown = styled(show_on(file))
    if _has_no_terminal(shown):
        return cast("Console", _LinesOnly(shown))
    console = _console_class()(file=shown, highlight=False, emoji=False)
    return console if console.is_terminal else _console_class()(file=shown, highlight=False, emoji=False, width=WIDTH)


def load_console(file: IO[str]) -> None:
    """Import what lines on a console on `file` need."""
    if not _has_no_terminal(file):
        _console_class()


def _has_no_terminal(file: IO[str]) -> bool:
    """Whether rich would say so: the file is not a terminal, and no variable of rich's says otherwise."""
    if any(name in os.environ for name in ("FORCE_COLOR", "TTY_COMPATIBLE")):
        return False
    try:
        return not file.isatty()
    except (AttributeError, ValueError):  # no file of Python's, or a closed one
        return False


def line_of(text: str, style: str = "") -> Text:
    """One line in a style of rich's."""
    return _text_of([(text, style)])


def _text_of(spans: Sequence[Span]) -> Text:
    from rich.text import Text

    return Text.assemble(*(Text(spell_line(text), style) for text, style in spans))


def say_text(console: Console, text: Text) -> None:
    """Print a line. On a terminal a line that is too long goes on between words, a little further to the right."""
    plain = text.plain
    indent = len(plain) - len(plain.lstrip(" =")) + 2
    if not console.is_terminal or text.cell_len <= console.width or indent > console.width // 2:
        console.print(text, soft_wrap=True)
        return
    from rich.text import Text

    for place, line in enumerate(text.wrap(console, console.width - indent)):
        line.rstrip()
        console.print(Text(" " * indent if place else "") + line, soft_wrap=True)


def say_spans(console: Console, spans: Sequence[Span], is_sentence: bool = True) -> None:
    """Print a line of several styles: a sentence as `say_text` does, anything else in one line."""
    if isinstance(console, _LinesOnly):
        console.write_line("".join(spell_line(text) for text, _ in spans))
    elif is_sentence:
        say_text(console, _text_of(spans))
    else:
        console.print(_text_of(spans), soft_wrap=True)


def write_lines(console: Console, lines: Sequence[str]) -> bool:
    """Print lines without a style that need not be shown, and return whether: not on a terminal, nor where rules need letters."""
    if not isinstance(console, _LinesOnly) or not console.encoding.startswith("utf"):
        return False
    console.write_line("\n".join(lines))
    return True


def say_line(console: Console, text: str, style: str = "") -> None:
    """Print a line, as `say_text` does."""
    say_spans(console, [(text, style)])


def say_block(console: Console, text: str, style: str = "") -> None:
    """Print several lines; on a terminal that is too narrow for them as one sentence, which `say_text` divides."""
    fits = not console.is_terminal or max(map(len, text.splitlines())) <= console.width
    for line in text.splitlines() if fits else [" ".join(text.split())]:
        say_line(console, line, style)


def teller(console: Console) -> Callable[[str], None]:
    """Prints a line, as `say_text` does."""
    return functools.partial(say_line, console)


@functools.cache
def _console_class() -> type[Console]:
    """rich's console, which shows all text that it prints; only its own control sequences go through."""
    from rich.console import Console
    from rich.segment import Segment

    class ShownConsole(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(spell_lines(segment.text), segment.style)

        def on_broken_pipe(self) -> None:
            """The reader went away: the command's error, where rich would end the process with the exit code of findings."""
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    return ShownConsole
