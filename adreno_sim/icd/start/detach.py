"""What a server lets go of first, before it imports anything that takes time."""

from __future__ import annotations

import contextlib
import os
import signal

from ...base.processes.descriptors import close_others


def leave_session() -> None:
    """Signals for the client are not for this process, which ends when that does, with a report."""
    with contextlib.suppress(OSError):
        os.setsid()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def leave_files(kept: int) -> None:
    """What the client's program had open is not ours to hold: a pipe's reader would wait for us. Its input is not ours either."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    close_others(kept)
