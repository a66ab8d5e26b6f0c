"""A condition under which launches of this thread stop as if their time was over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_local = threading.local()


@contextmanager
def giving_up_when(is_over: Callable[[], bool]) -> Iterator[None]:
    """Launches of the block are asked every now and then whether they are to stop."""
    _local.is_over = is_over
    try:
        yield
    finally:
        del _local.is_over


def may_give_up() -> bool:
    """Returns whether a launch of this thread has to ask."""
    return hasattr(_local, "is_over")


def must_give_up() -> bool:
    """Returns whether a launch of this thread is to stop."""
    return may_give_up() and bool(_local.is_over())
