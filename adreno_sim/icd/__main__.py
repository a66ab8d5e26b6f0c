"""`python -m adreno_sim.icd FD`: the server of one client, whose socket is file descriptor FD."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from ..base.processes.descriptors import close_others


def main() -> None:
    """Serve, and end without the interpreter's own end: the ring's thread may be inside a launch."""
    gc.disable()  # while modules are imported: they make no garbage, and many objects
    with contextlib.suppress(OSError):
        os.setsid()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # meant for the client: the session ends when that does, with a report
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit("usage: python -m adreno_sim.icd FD (an OpenCL program's driver starts this; see adreno-sim run)")
    descriptor = int(sys.argv[1])
    _leave_files(descriptor)
    try:
        connection = socket.socket(fileno=descriptor)
        if connection.family != socket.AF_UNIX or connection.type != socket.SOCK_STREAM:
            sys.exit(f"adreno-sim: descriptor {descriptor}: expected a stream socket of the Unix domain")
    except OSError as error:
        sys.exit(f"adreno-sim: descriptor {descriptor}: {error.strerror}")
    with _behind_wall():
        from .server import Server
        from .settings import read_settings

        gc.freeze()
        gc.enable()
        Server(connection, read_settings()).serve()
    os._exit(0)


@contextlib.contextmanager
def _behind_wall() -> Iterator[None]:
    """Restrict this process for good, before the client's kernels come: it writes to the cache, to the folder of reports and to a
    separate folder, which is gone behind the block, and starts the compiler alone. It reads what the client may, since kernels
    include headers from anywhere."""
    import tempfile

    from ..base.processes.scratch import scratch_folder
    from ..base.wall.bytecode import begin_compiling
    from ..base.wall.enter import Openings, enter, is_switched_off
    from ..frontend.sandbox import find_compiler, make_cache_folder
    from .settings import read_settings

    with contextlib.ExitStack() as files:
        outside = Path(tempfile.gettempdir())
        with contextlib.suppress(OSError):  # nowhere to write: large arrays stay in memory
            tempfile.tempdir = os.environ["TMPDIR"] = str(files.enter_context(scratch_folder("server")))
        if not is_switched_off():
            reports = read_settings().reports
            with contextlib.suppress(OSError):
                make_cache_folder()
            write = [Path(folder) for folder in (tempfile.gettempdir(), reports) if folder and Path(folder) != outside]
            begin_compiling()
            enter(Openings((Path("/"),), tuple(write), tuple(find_compiler()), passing=(outside,)))
        yield


def _leave_files(kept: int) -> None:
    """What the client's program had open is not ours to hold: a pipe's reader would wait for us. Its input is not ours either."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    close_others(kept)


if __name__ == "__main__":
    main()
