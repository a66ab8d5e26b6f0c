"""What glibc keeps of the memory that a program frees."""

from __future__ import annotations

import ctypes
import functools
import os

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of mallopt (malloc.h)."""
_MOST_DYNAMIC = 32 << 20
"""Bytes: the most to which glibc itself raises the threshold of mmap on a processor of 64 bits; it trims at twice as many."""
_OWN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


@functools.cache
def keep_freed_memory() -> None:
    """Set glibc's thresholds of mmap and trimming at once to what they become in a process that frees large blocks.

    Blocks of some MiB that are taken and freed over and over come from the system each time otherwise, page by page: TVM's
    schedules spend a third of their time so. A user who set thresholds keeps them; other C libraries stay unchanged.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is None or any(name in os.environ for name in _OWN):
        return
    set_option(_MMAP_THRESHOLD, _MOST_DYNAMIC)
    set_option(_TRIM_THRESHOLD, 2 * _MOST_DYNAMIC)
