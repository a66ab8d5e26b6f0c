"""Ctrl-C in the command line: noticed once, whatever becomes of the KeyboardInterrupt that Python raises for it.

Libraries swallow one (a bare `except`, a callback from C), or make another error of it. Python itself prints those that it
raises where nobody can catch them (in `__del__`, in the callback of a weak reference): a traceback that tells nobody anything.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_INTERRUPTED = 130
"""The exit code of a command that was interrupted."""

_noticed = threading.Event()


@contextmanager
def watching_interrupts() -> Iterator[None]:
    """While the block runs, SIGINT is noticed besides raising KeyboardInterrupt. One that is ignored, as in the background of a
    shell, or handled by somebody else is left alone."""
    _noticed.clear()
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) != signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _notice)
    report = sys.unraisablehook
    sys.unraisablehook = lambda raised: None if isinstance(raised.exc_value, KeyboardInterrupt) else report(raised)
    try:
        yield
    finally:
        sys.unraisablehook = report
        signal.signal(signal.SIGINT, signal.default_int_handler)


def was_interrupted() -> bool:
    """Returns whether SIGINT came since the last `watching_interrupts` began."""
    return _noticed.is_set()


def forget_interrupt() -> None:
    """Forgets a SIGINT that was meant for what the command runs, and not for the command."""
    _noticed.clear()


def raise_if_interrupted() -> None:
    """Raises KeyboardInterrupt if SIGINT came and whoever got its KeyboardInterrupt went on."""
    if _noticed.is_set():
        raise KeyboardInterrupt


def _notice(number: int, frame: FrameType | None) -> None:
    _noticed.set()
    raise KeyboardInterrupt
