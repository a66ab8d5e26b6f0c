"""What a driver writes to standard output while a kernel runs: the text of its printf, which is the kernel's and not ours."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Iterator

from ...base.text.spelling import decode
from ...records import dataclass

_LIMIT = 4 << 20
"""Bytes that are kept of one launch, as on the simulated device."""

_C = ctypes.CDLL(None)
_one = threading.Lock()
"""Two that held it at once would leave each other's file behind."""


@dataclass
class Printed:
    """text: once the block has ended."""

    text: str = ""


@contextlib.contextmanager
def hold_output() -> Iterator[Printed]:
    """Context in which descriptor 1 is a file, whose text it gives. Threads that print meanwhile are part of it."""
    held = Printed()
    with _one:
        try:
            before = os.dup(1)
        except OSError:  # closed: nothing can be printed
            yield held
            return
        file = os.memfd_create("printed")
        _C.fflush(None)  # what is in the C library's buffers is not the kernel's
        os.dup2(file, 1)
        try:
            yield held
        finally:
            _C.fflush(None)
            os.dup2(before, 1)
            held.text = decode(os.pread(file, _LIMIT, 0))
            os.close(before)
            os.close(file)
