"""The standard streams of a command: whatever is printed is shown (`spelling.py`), and no text commands who reads the log."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

from .spelling import OutputGuard


class ShownStream:
    """A text stream in front of `inner`. `styled` writes to the same stream what may hold a terminal's control sequences."""

    def __init__(self, inner: IO[str]):
        self.inner = inner
        self._guard = OutputGuard()
        self.styled = cast("IO[str]", _StyledStream(self))

    def write(self, text: str) -> int:
        self.pass_on(self._guard.show(text))
        return len(text)

    def write_styled(self, text: str) -> int:
        self.pass_on(self._guard.disarm(text))
        return len(text)

    def pass_on(self, text: str) -> None:
        """Writes to `inner`; what its encoding lacks is spelled."""
        try:
            self.inner.write(text)
        except UnicodeEncodeError:
            encoding = getattr(self.inner, "encoding", None) or "ascii"
            self.inner.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class _StyledStream:
    """See `ShownStream.styled`."""

    def __init__(self, shown: ShownStream):
        self._shown = shown

    def write(self, text: str) -> int:
        return self._shown.write_styled(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shown, name)


def show_on(file: IO[str]) -> IO[str]:
    """Returns `file` as a ShownStream."""
    return file if isinstance(file, ShownStream) else cast("IO[str]", ShownStream(file))


def styled(file: IO[str]) -> IO[str]:
    """Returns the stream for text that holds control sequences of ours: who writes to it shows what is foreign."""
    return file.styled if isinstance(file, ShownStream) else file


def print_commands(lines: Iterable[str], file: IO[str]) -> None:
    """Print workflow commands of ours, whose values are escaped, one a line."""
    inner = file.inner if isinstance(file, ShownStream) else file
    for line in lines:
        inner.write(f"{line}\n")


@contextlib.contextmanager
def shown_streams() -> Iterator[None]:
    """Context in which standard output and standard error show what is printed."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast("Any", show_on(sys.stdout)), cast("Any", show_on(sys.stderr))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
