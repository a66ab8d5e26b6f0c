"""The files that a process has open."""

from __future__ import annotations

import os


def close_others(*kept: int) -> None:
    """Closes all descriptors except the standard streams and `kept`: a reader of a pipe waits for all that may write to it."""
    most, low = os.sysconf("SC_OPEN_MAX"), 3
    for descriptor in sorted(kept):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, most if most > 0 else 1 << 16)
