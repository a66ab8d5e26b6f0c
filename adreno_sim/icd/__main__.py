"""`python -m adreno_sim.icd FD`: the server of one client, whose socket is file descriptor FD."""

from __future__ import annotations

import os
import socket
import sys

from ..base.garbage import begin_own_process
from .start import detach


def main() -> None:
    """Serve the client."""
    begin_own_process()
    detach.leave_session()
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit("usage: python -m adreno_sim.icd FD (an OpenCL program's driver starts this; see adreno-sim run)")
    descriptor = int(sys.argv[1])
    detach.leave_files(descriptor)
    try:
        connection = socket.socket(fileno=descriptor)
        if connection.family != socket.AF_UNIX or connection.type != socket.SOCK_STREAM:
            sys.exit(f"adreno-sim: descriptor {descriptor}: expected a stream socket of the Unix domain")
    except OSError as error:
        sys.exit(f"adreno-sim: descriptor {descriptor}: {error.strerror}")
    from .start import session

    os.environ.setdefault(*session.ONE_THREAD)
    session.serve(connection)


if __name__ == "__main__":
    main()
