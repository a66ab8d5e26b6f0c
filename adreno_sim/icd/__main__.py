"""`python -m adreno_sim.icd FD`: the server of one client, whose socket is file descriptor FD."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys


def main() -> None:
    """Serve, and end without the interpreter's own end: the ring's thread may be inside a launch."""
    with contextlib.suppress(OSError):
        os.setsid()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # meant for the client: the session ends when that does, with a report
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit("usage: python -m adreno_sim.icd FD (an OpenCL program's driver starts this; see adreno-sim run)")
    descriptor = int(sys.argv[1])
    _close_others(descriptor)
    try:
        connection = socket.socket(fileno=descriptor)
        if connection.family != socket.AF_UNIX or connection.type != socket.SOCK_STREAM:
            sys.exit(f"adreno-sim: descriptor {descriptor}: expected a stream socket of the Unix domain")
    except OSError as error:
        sys.exit(f"adreno-sim: descriptor {descriptor}: {error.strerror}")
    from ..base.processes.scratch import remove_abandoned
    from .server import Server
    from .settings import read_settings

    remove_abandoned()  # a server before may have been killed
    Server(connection, read_settings()).serve()
    os._exit(0)


def _close_others(kept: int) -> None:
    """What the client's program had open is not ours to hold: a pipe's reader would wait for us. Nor is its input ours."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") > 0 else 1 << 16)


if __name__ == "__main__":
    main()
