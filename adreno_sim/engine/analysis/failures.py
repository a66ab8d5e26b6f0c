"""An analysis that fails itself: its result is unknown, the launch goes on, and its report says so.

Analyses only make code faster, so that each has an answer that is right without it. In tests a failure is a defect: with
ADRENO_SIM_STRICT_ANALYSIS in the environment it is raised.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from ...base.errors import AdrenoSimError

T = TypeVar("T")

STRICT = "ADRENO_SIM_STRICT_ANALYSIS"
_collected: ContextVar[list[str] | None] = ContextVar("collected", default=None)


def attempt(what: str, analyse: Callable[[], T], otherwise: T) -> T:
    """Returns what `analyse` returns; if it fails, `otherwise`, after a note that `what` is not known.

    Errors that are meant for the user (AdrenoSimError) pass. A kernel nested too deeply for the stack exceeds the budget of an
    analysis, which is noted too and is not a defect.
    """
    try:
        return analyse()
    except AdrenoSimError:
        raise
    except RecursionError:
        note([f"{what}: the kernel is nested too deeply to analyse"])
    except Exception as error:
        if os.environ.get(STRICT):
            raise
        note([f"{what}: the analysis failed ({_describe(error)})"])
    return otherwise


@contextmanager
def collect() -> Iterator[list[str]]:
    """Collects the notes on failures inside the `with` statement; a surrounding `collect` does not see them."""
    notes: list[str] = []
    token = _collected.set(notes)
    try:
        yield notes
    finally:
        _collected.reset(token)


def note(failures: Iterable[str]) -> None:
    """Adds notes, as sentences, to those that are being collected; each once."""
    notes = _collected.get()
    if notes is not None:
        notes += [failure for failure in dict.fromkeys(failures) if failure not in notes]


def _describe(error: Exception) -> str:
    """Returns an exception's type, and the file and line of this package where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
    return f"{type(error).__name__}{where}"
