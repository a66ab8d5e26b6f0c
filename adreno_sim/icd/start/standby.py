"""A process that is begun when `adreno-sim run` begins, and imports while that reads its options and starts the command.

It is a child by fork of the command, which has only imported what both need. For each client it has a child of its own by fork,
which is the client's server if one that the client starts would be equal (`alike.py`); if not, the client starts one, as without
`run`. The process waits outside the wall. A server enters that before it reads what the driver asks of it: no kernel comes
earlier. The process does not outlive the command; servers do, as long as they have their clients.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

from ...backends.sim.device_text import read_device
from ...base.garbage import begin_own_process
from ...base.processes.parent import end_with
from ...base.wall.enter import SWITCH
from ...base.wall.variables import is_kept
from ...results.run_report import ProcessReport
from ..environment import environment
from ..protocol import JOIN, JOIN_MOST, STANDBY
from ..report_files import collect_reports
from . import detach, session
from .alike import find_passed, is_alike, read_variables

SHARED = (ProcessReport, collect_reports, environment, read_device)
"""What the command and servers both import: once, before the one is forked from the other."""
_MOST_MESSAGE = 1 << 17
"""Bytes of what the command says."""
_PATIENCE = 5.0
"""Seconds that a client may take to say who it is."""
_CREDENTIALS = struct.Struct("iII")


class Standby:
    """The process as its command sees it."""

    def __init__(self, pid: int, control: socket.socket):
        self._pid, self._control = pid, control

    def offer(self, folder: Path, inherited: Mapping[str, str]) -> dict[str, str]:
        """Returns the variable by which the command's processes find it; none if it is of no use. inherited: their
        variables without it. folder: in which its socket lies."""
        path = str(folder / "server")
        variables = {name: text for name, text in inherited.items() if is_kept(name)} | {STANDBY: path}
        message = json.dumps(variables).encode()
        if inherited.get(SWITCH) or inherited.get("LD_PRELOAD") or len(message) > _MOST_MESSAGE:
            return {}
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as listener:  # OSError: a long path, or it has ended
            listener.bind(path)
            listener.listen()
            socket.send_fds(self._control, [message], [listener.fileno()])
            return {STANDBY: path}
        return {}

    def end(self) -> None:
        """End it, and wait for that: no server is in it, and a program that just asks for one starts its own."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


def begin() -> Standby | None:
    """Begin the process beside this one, which has done nothing yet. None where servers would not be as those of clients."""
    if not _is_plain():
        return None
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid()
    try:
        child = os.fork()
    except OSError:
        return None
    if child == 0:
        try:
            _wait_for_client(theirs, parent)
        finally:  # also by an error: clients then start their own server, which tells it
            os._exit(1)
    theirs.close()
    return Standby(child, ours)


def _is_plain() -> bool:
    """Whether this process has one thread, all standard streams, and nothing that a server would not have."""
    has_options = any(word[:1] == "-" and word != "-m" for word in sys.orig_argv[1:2])  # of Python: a server has none
    if os.environ.get("LD_PRELOAD") or sys.flags.optimize or has_options:
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1 and all(os.fstat(stream) for stream in range(3))
    except OSError:  # a closed stream, or no /proc
        return False


def _wait_for_client(control: socket.socket, parent: int) -> None:
    detach.leave_session()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    end_with(parent)
    begin_own_process()
    detach.leave_files(control.fileno())
    if not _leave_scripts_folder():
        return
    os.environ.setdefault(*session.ONE_THREAD)
    session.import_server()
    data, descriptors, _, _ = socket.recv_fds(control, _MOST_MESSAGE, 1)
    if not descriptors or len(os.listdir("/proc/self/task")) > 1:  # the wall would not hold for a thread that a library began
        return
    expected = json.loads(data)
    gc.freeze()
    signal.signal(signal.SIGCHLD, _reap)
    listener = socket.socket(fileno=descriptors[0])
    connection = listener.accept()[0]
    while _fork_quietly() != 0:
        connection.close()
        connection = listener.accept()[0]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    listener.close()
    control.close()
    if _take(connection, expected):
        connection.sendall(b"\1")
        connection.settimeout(None)
        session.serve(connection)


def _reap(_number: int, _frame: object) -> None:
    """Wait for the servers that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork_quietly() -> int:
    """As `os.fork`; -1 where the system gives no process: the client then starts its server itself."""
    try:
        return os.fork()
    except OSError:
        return -1


def _leave_scripts_folder() -> bool:
    """Take the folder of the program from Python's path, as a server has none: it may hold a file of any name. Returns whether
    nothing but this package was imported from there."""
    has_none = bool(getattr(sys.flags, "safe_path", sys.flags.isolated))  # Python 3.10 knows no safe path
    folder = None if has_none else sys.path.pop(0)
    sys.path[:] = [path for path in sys.path if path]
    own = ("__main__", __name__.partition(".")[0])
    return not any(_lies_in(folder, module) for name, module in sys.modules.items() if name not in own)


def _lies_in(folder: str | None, module: object) -> bool:
    """Whether a module is a file in a folder, or a package there."""
    file = getattr(module, "__file__", None)
    if not file or folder is None:
        return False
    place = os.path.dirname(os.path.abspath(file))
    return os.path.abspath(folder) == (os.path.dirname(place) if hasattr(module, "__path__") else place)


def _take(connection: socket.socket, expected: dict[str, str]) -> bool:
    """Whether a server that this client starts would be as this process; then it is now as if the client had started it."""
    descriptors: list[int] = []
    try:
        connection.settimeout(_PATIENCE)
        head, descriptors, _, _ = socket.recv_fds(connection, JOIN.size, 4)
        thread, size = JOIN.unpack(head)
        if len(descriptors) != 2 or size > JOIN_MOST:
            raise ValueError(size)
        block = bytearray(size)
        _receive_into(connection, block)
        process = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
        passed = find_passed(read_variables(block), expected)
        if passed is not None and is_alike(thread, process):
            os.chdir(f"/proc/{process}/cwd")
            for stream, descriptor in enumerate(descriptors, 1):
                os.dup2(descriptor, stream)
            _set_variables({**expected, **passed})
            return True
    except (OSError, ValueError, struct.error):  # it goes away, or says something else
        pass
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return False


def _receive_into(connection: socket.socket, block: bytearray) -> None:
    view = memoryview(block)
    while view:
        if not (count := connection.recv_into(view)):
            raise ValueError("cut short")
        view = view[count:]


def _set_variables(variables: dict[str, str]) -> None:
    """Make these the variables of this process that a server keeps."""
    for name in [name for name in os.environ if is_kept(name) and name not in variables]:
        del os.environ[name]
    os.environ.update(variables)
    os.environ["PYTHONSAFEPATH"] = "1"
    os.environ.setdefault(*session.ONE_THREAD)
