"""When Python's cyclic garbage collector runs, and what it walks.

A collection walks objects that live to find the few that do not. Modules are some hundred thousand that live: in a process of our
own no collection walks them. A process of somebody else's, who imports this package, keeps its settings. How many objects are
made between two collections stays Python's choice: cycles hold arrays.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0
_resume = False
_own = False


@contextmanager
def gc_paused() -> Iterator[None]:
    """No collection starts inside, in any thread; where it was off before, it stays off."""
    global _pauses, _resume
    with _lock:
        if _pauses == 0:
            _resume = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if _pauses == 0 and _resume:
                gc.enable()


@contextmanager
def importing() -> Iterator[None]:
    """Import modules inside: no collection starts, and in a process of our own none walks later what is there by then."""
    with gc_paused():
        yield
        if _own:
            gc.freeze()


def begin_own_process() -> None:
    """This process is ours, and just begins: it collects nothing until `begin_collecting`."""
    gc.disable()


def begin_collecting() -> None:
    """This process of our own has imported what it needs for its usual work, which lives as long as the process."""
    global _own
    _own = True
    gc.freeze()
    gc.enable()


def begin_child() -> None:
    """This process was begun by fork, for one piece of work: what it shares lives on, and to look at it would copy its pages. The
    threads that paused collections, or are about to, are not in it."""
    global _lock, _pauses
    _lock, _pauses = threading.Lock(), 0
    begin_collecting()
