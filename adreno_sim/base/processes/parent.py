"""A child that does not outlive its parent."""

from __future__ import annotations

import ctypes
import os
import signal

_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl."""


def end_with(parent: int) -> None:
    """This process is killed when its parent ends, however that ends."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
