"""A condition under which launches of this thread stop as if their time was over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_conditions: dict[int, Callable[[], bool]] = {}
"""By thread."""


@contextmanager
def giving_up_when(is_over: Callable[[], bool]) -> Iterator[None]:
    """Launches of the block are asked every now and then whether they are to stop."""
    _conditions[threading.get_ident()] = is_over
    try:
        yield
    finally:
        del _conditions[threading.get_ident()]


def may_give_up() -> bool:
    """Returns whether a launch of this thread has to ask."""
    return bool(_conditions) and threading.get_ident() in _conditions


def must_give_up() -> bool:
    """Returns whether a launch of this thread is to stop."""
    return may_give_up() and _conditions[threading.get_ident()]()
