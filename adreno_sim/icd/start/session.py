"""A session in this process: the wall around it, and its end."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ...base.garbage import begin_collecting
from ...base.processes.scratch import scratch_folder
from ...base.wall.bytecode import begin_compiling
from ...base.wall.enter import Openings, enter, is_switched_off
from ...frontend.sandbox import find_compiler, make_cache_folder
from ..settings import read_settings

if TYPE_CHECKING:
    from ..server import Server

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""NumPy's threads would multiply matrices, which a session does not: to begin them takes longer than to import NumPy."""


def serve(connection: socket.socket) -> NoReturn:
    """Serve the client, and end without the interpreter's own end: the ring's thread may be inside a launch."""
    with _behind_wall():
        server = import_server()
        begin_collecting()
        server(connection, read_settings()).serve()
    os._exit(0)


def import_server() -> type[Server]:
    """Import what a session needs."""
    from ..server import Server

    return Server


@contextlib.contextmanager
def _behind_wall() -> Iterator[None]:
    """Restrict this process for good, before the client's kernels come: it writes to the cache, to the folder of reports and to a
    separate folder, which is gone behind the block, and starts the compiler alone. It reads what the client may, since kernels
    include headers from anywhere."""
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
