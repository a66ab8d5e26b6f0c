"""Pauses Python's cyclic garbage collector while a kernel is compiled.

Compiling makes some ten thousand objects that live; whole collections in between walk all that the process holds, and took
a twentieth of the time.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0
_resume = False


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
