"""Imports NumPy so that the threads of its BLAS sleep until there is work for them."""

from __future__ import annotations

import os
import sys

_TIMEOUT = "OPENBLAS_THREAD_TIMEOUT"
"""OpenBLAS reads it when it is loaded: a thread without work spins for two to this power of clock cycles before it sleeps."""
_LEAST = "4"


def import_numpy() -> None:
    """Import NumPy. Its BLAS begins a thread for each further core; each spins for some 0.03 s, which is much of a short command.

    The threads are as many as without this, and compute the same. What the user has set is left, and other processes do not
    see the variable.
    """
    if _TIMEOUT in os.environ or "numpy" in sys.modules:
        return
    os.environ[_TIMEOUT] = _LEAST
    try:
        import numpy as numpy
    finally:
        del os.environ[_TIMEOUT]
