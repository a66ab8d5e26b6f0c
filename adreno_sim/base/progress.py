"""Progress of a check: nothing, or a bar on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .text.spelling import encode, spell_line
from .text.stream import styled


class Progress:
    """Receives stages and steps; shows nothing."""

    def expect(self, shares: Mapping[str, float]) -> None:
        """The stages to come, in order, and what part of the time each usually takes. A stage that is none of them, or that is
        left out, moves nothing back."""

    def stage(self, name: str, steps: int = 0) -> None:
        """A stage begins; `steps` is how many `step` calls it will get, 0 = unknown."""

    def step(self, name: str) -> None:
        """One step of the stage begins."""


class _Bar(Progress):
    """A bar of the stage, or of the whole where it is known which stages there are."""

    def __init__(self, bar: object, task: object):
        self._bar, self._task = bar, task
        self._stage = ""
        self._ends: dict[str, tuple[float, float]] = {}
        self._step = 0.0
        self._done = 0.0

    def expect(self, shares: Mapping[str, float]) -> None:
        end, whole = 0.0, sum(shares.values())
        for name, share in shares.items():
            self._ends[name] = (end, end + share / whole)
            end += share / whole
        self._bar.reset(self._task, total=1, whole=True)  # type: ignore[attr-defined]

    def stage(self, name: str, steps: int = 0) -> None:
        self._stage = name
        if not self._ends:
            self._bar.reset(self._task, total=steps or None, description=name)  # type: ignore[attr-defined]
            return
        start, end = self._ends.get(name, (self._done, self._done))
        self._step = (end - start) / steps if steps else 0.0
        self._move(max(self._done, start), name)

    def step(self, name: str) -> None:
        text = spell_line(f"{self._stage}: {name}")[:60]
        if not self._ends:
            self._bar.update(self._task, advance=1, description=text)  # type: ignore[attr-defined]
            return
        self._move(min(self._done + self._step, max(self._done, self._ends.get(self._stage, (0.0, 0.0))[1])), text)

    def _move(self, done: float, text: str) -> None:
        self._done = done
        self._bar.update(self._task, completed=done, description=text)  # type: ignore[attr-defined]


class _FileProgress(Progress):
    """Writes the latest stage and step to a file, which outlives a crash, and forwards them to `inner`."""

    def __init__(self, inner: Progress, path: Path):
        self._inner = inner
        self._path = path
        self._stage = ""

    def expect(self, shares: Mapping[str, float]) -> None:
        self._inner.expect(shares)

    def stage(self, name: str, steps: int = 0) -> None:
        self._stage = name
        self._path.write_bytes(encode(name))
        self._inner.stage(name, steps)

    def step(self, name: str) -> None:
        self._path.write_bytes(encode(f"{self._stage}: {name}"))
        self._inner.step(name)


END = "its end"
"""The last step of a process that came to its end by itself."""

_noted: Path | None = None


def note_steps(file: Path) -> None:
    """From now on a file holds the latest stage and step of whatever shows its progress."""
    global _noted
    _noted = file


def note_end() -> None:
    """This process has come to its end, and knows its exit code."""
    if _noted is not None:
        _noted.write_bytes(encode(END))


def has_ended(noted: Path) -> bool:
    """Whether the process that noted its steps in this file has come to its end."""
    return noted.exists() and noted.read_bytes() == encode(END)


@contextmanager
def show_progress(file: IO[str]) -> Iterator[Progress]:
    """A progress bar on `file` while the block runs, gone afterwards; nothing where `file` is not a terminal."""
    with _bar(file) as bar:
        yield bar if _noted is None else _FileProgress(bar, _noted)


@contextmanager
def _bar(file: IO[str]) -> Iterator[Progress]:
    if not file.isatty():
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Task, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress
    from rich.text import Text

    class CountColumn(MofNCompleteColumn):
        """Nothing in a stage if nobody knows how many steps it has; percent of a whole."""

        def render(self, task: Task) -> Text:
            if task.fields["whole"]:
                return Text(f"{task.percentage:.0f} %")
            return Text() if task.total is None else super().render(task)

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), CountColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(file=styled(file)), transient=True) as bar:
        yield _Bar(bar, bar.add_task("", total=None, whole=False))
