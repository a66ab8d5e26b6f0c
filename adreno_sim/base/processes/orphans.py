"""Processes whose parent has ended: this one takes them over, so that a signal for all that a command started reaches them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator

from .descendants import find_children

_SET_CHILD_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl."""


class Orphans:
    """Those that this process takes over. kept: a child for which somebody waits, so that it is not reaped; None while there is
    none, and nothing is. Children that were there before are not either: LLVM's helper has somebody who waits for it, too."""

    def __init__(self) -> None:
        self.kept: int | None = None
        self._others = frozenset(find_children(os.getpid()))

    def reap(self) -> None:
        """Forget those that have ended."""
        if self.kept is None:
            return
        others = {self.kept, *self._others}
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if ended.si_pid in others:  # until it is waited for, it hides those that ended later
                    self._reap_each(others)
                    return
                os.waitpid(ended.si_pid, os.WNOHANG)

    @staticmethod
    def _reap_each(others: set[int]) -> None:
        for each in set(find_children(os.getpid())) - others:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(each, os.WNOHANG)


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
