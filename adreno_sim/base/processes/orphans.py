"""Processes whose parent has ended: this one takes them over, so that a signal for all that a command started reaches them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator

_SET_CHILD_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl."""


class Orphans:
    """Those that this process takes over. kept: a child for which somebody waits, so that it is not reaped; None while there is
    none, and nothing is."""

    def __init__(self) -> None:
        self.kept: int | None = None

    def reap(self) -> None:
        """Forget those that have ended. The kept child, once it has, hides others until it is waited for."""
        with contextlib.suppress(ChildProcessError):
            while self.kept is not None:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if ended is None or ended.si_pid == self.kept:
                    return
                os.waitpid(ended.si_pid, os.WNOHANG)


@contextlib.contextmanager
def adopting_orphans() -> Iterator[Orphans]:
    """Context in which descendants whose parents end become children of this process, for `find_descendants`. It begins before
    they are started. Where the system does not know this, nothing is different."""
    orphans = Orphans()
    if _set_reaper(1):
        yield orphans
        return
    before = signal.signal(signal.SIGCHLD, lambda *_: orphans.reap())
    try:
        yield orphans
    finally:
        signal.signal(signal.SIGCHLD, before)
        orphans.reap()
        _set_reaper(0)


def _set_reaper(wanted: int) -> int:
    try:
        return int(ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, wanted, 0, 0, 0))
    except (OSError, AttributeError):
        return -1
