"""A child by fork that does one piece of work after another, within limits: what crashes, or takes too long, ends only the child.

A fork shares what this process has loaded, so that the child is ready in milliseconds. It holds nothing else of this process: no
descriptor, no standard stream, no handler of signals. It ends when this process does, and after a while without work, since it
keeps alive what this process frees. The next piece of work begins another one.
"""

from __future__ import annotations

import faulthandler
import math
import os
import re
import resource
import select
import signal
import socket
import struct
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial

from ...records import dataclass
from ..garbage import begin_child
from ..profiling.sampler import find_log

_HEAD = struct.Struct("<?Q")
"""Whether the work raised an error, and the bytes of what it returned, or of what the error says."""
_NO_MEMORY = ("out of memory", "bad_alloc", "Allocation failed", "MemoryError")
_ASSERTION = re.compile(r"(?:LLVM ERROR: .*|Assertion `.*' failed)")
_MESSAGES = 4096
"""Bytes at the end of its messages that are examined."""


@dataclass(frozen=True)
class Limits:
    """Of each piece of work: seconds of processor time, seconds by the clock (wall), bytes besides what this process has.

    idle: seconds without work after which the child ends.
    """

    seconds: float
    wall: float
    memory: int
    idle: float = 2.0


class HelperEndedError(Exception):
    """The child ended before its work did. The text says why, behind the name of whose code it was.

    limit: it is one of `Limits` that it met; else it crashed."""

    def __init__(self, why: str, limit: bool = False):
        super().__init__(why)
        self.limit = limit


class NoHelperError(Exception):
    """The system gives this process no child."""


class Helper:
    """Does `work` in a child. One thread at a time may ask.

    quiet: holds other threads out of the libraries that `work` uses; the child is begun inside it, and finds their locks free.
    """

    def __init__(
        self,
        work: Callable[[bytes], bytes],
        limits: Limits,
        quiet: Callable[[], AbstractContextManager[object]] = nullcontext,
    ):
        self._work, self._limits, self._quiet = work, limits, quiet
        self._child: _Child | None = None

    def do(self, request: bytes) -> bytes:
        """Returns what `work` returns for `request`.

        RuntimeError with the text of an error that it raises; HelperEndedError if the child crashed or met a limit;
        NoHelperError if there is none.
        """
        while True:
            child = self._find()
            try:
                failed, reply = child.ask(request, self._limits.wall)
            except _NotBegunError:  # it had nothing to do for a while
                self._child = None
                continue
            except HelperEndedError:
                self._child = None
                raise
            except BaseException:  # an interrupt: its reply would be taken for the next one's
                child.end()
                self._child = None
                raise
            if failed:
                raise RuntimeError(reply.decode("utf-8", "replace"))
            return reply

    def _find(self) -> _Child:
        """The child of this process; one that was begun before this process was, by fork, is another's."""
        if self._child is None or self._child.parent != os.getpid():
            with self._quiet():
                self._child = _begin(self._work, self._limits)
        return self._child


class Helpers:
    """Helpers that do the same work, as many as threads ask at once. Arguments are as of `Helper`."""

    def __init__(
        self,
        work: Callable[[bytes], bytes],
        limits: Limits,
        quiet: Callable[[], AbstractContextManager[object]] = nullcontext,
    ):
        self._begin = partial(Helper, work, limits, quiet)
        self._free: list[Helper] = []

    def do(self, request: bytes) -> bytes:
        """As `Helper.do`. The helper that was used last is the first to be used again: others end."""
        try:
            helper = self._free.pop()
        except IndexError:
            helper = self._begin()
        try:
            return helper.do(request)
        finally:
            self._free.append(helper)


class _NotBegunError(Exception):
    """The child had ended by itself before the request came."""


class _Child:
    """A child as its parent sees it. messages: the file to which it writes."""

    def __init__(self, pid: int, connection: socket.socket, messages: int, limits: Limits):
        self.parent = os.getpid()
        self._pid, self._connection, self._messages, self._limits = pid, connection, messages, limits

    def __del__(self) -> None:
        with suppress(OSError):
            os.close(self._messages)

    def ask(self, request: bytes, wall: float) -> tuple[bool, bytes]:
        self._connection.settimeout(wall)
        try:
            self._connection.sendall(_HEAD.pack(False, len(request)) + request)
            failed, size = _HEAD.unpack(_receive(self._connection, _HEAD.size))
            return failed, _receive(self._connection, size)
        except TimeoutError:
            self.end()
            raise HelperEndedError(f"took longer than {wall:g} s", limit=True) from None
        except (OSError, EOFError):
            raise self._explain(self.end()) from None

    def end(self) -> int:
        """Ends it; its exit status, below 0 a signal."""
        self._connection.close()
        with suppress(ProcessLookupError, ChildProcessError):
            if not _has_ended(self._pid):
                os.kill(self._pid, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return -signal.SIGKILL  # somebody else waited for it

    def _explain(self, status: int) -> Exception:
        if status == 0:
            return _NotBegunError()
        said = os.pread(self._messages, _MESSAGES, max(0, os.fstat(self._messages).st_size - _MESSAGES)).decode(
            "utf-8", "replace"
        )
        if status == -signal.SIGXCPU:
            return HelperEndedError(f"took longer than {self._limits.seconds:g} s", limit=True)
        if any(sign in said for sign in _NO_MEMORY):
            return HelperEndedError(f"needs more than {self._limits.memory >> 20} MiB of memory", limit=True)
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        why = _ASSERTION.search(said)
        return HelperEndedError(f"{how} ({why[0]})" if why else how)


def _has_ended(pid: int) -> bool:
    """Whether a child has ended by itself: one that closed its connection is about to."""
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
        except ChildProcessError:
            return True
        time.sleep(0.001)
    return False


def _begin(work: Callable[[bytes], bytes], limits: Limits) -> _Child:
    ours, theirs = socket.socketpair()
    messages = os.memfd_create("messages")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which the caller has thought of
            pid = os.fork()
    except OSError as error:
        os.close(messages)
        raise NoHelperError(error.strerror) from None
    if pid == 0:
        code = 1
        try:
            _serve(work, _detach(theirs, messages, limits.memory), limits)
            code = 0
        finally:
            os._exit(code)
    theirs.close()
    return _Child(pid, ours, messages, limits)


def _detach(connection: socket.socket, messages: int, memory: int) -> socket.socket:
    """In the child: let go of all that is this process's by fork. Returns the connection."""
    faulthandler.disable()
    begin_child()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream, descriptor in enumerate((nothing, nothing, messages)):
        os.dup2(descriptor, stream)
    os.dup2(connection.detach(), 3)
    kept = find_log()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the folder itself
            if int(name) > 3 and int(name) != kept:
                os.close(int(name))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/statm", encoding="ascii") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    if soft == resource.RLIM_INFINITY or soft > taken + memory:
        _set_soft(resource.RLIMIT_AS, taken + memory)
    own = socket.socket(fileno=3)
    threading.Thread(target=_end_with_peer, args=(own,), daemon=True).start()
    return own


def _end_with_peer(connection: socket.socket) -> None:
    """While work goes on nobody reads the connection: this thread sees that the process at its other end is gone."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    poll.poll()
    os._exit(0)


def _serve(work: Callable[[bytes], bytes], connection: socket.socket, limits: Limits) -> None:
    connection.setblocking(True)
    while select.select([connection], [], [], limits.idle)[0]:
        _, size = _HEAD.unpack(_receive(connection, _HEAD.size))
        request = _receive(connection, size)
        _set_soft(resource.RLIMIT_CPU, math.ceil(time.process_time() + limits.seconds))
        failed = False
        try:
            reply = work(request)
        except Exception as error:
            failed, reply = True, str(error).encode("utf-8", "replace")
        connection.sendall(_HEAD.pack(failed, len(reply)) + reply)


def _set_soft(kind: int, limit: int) -> None:
    """Sets a limit that the process may raise again, as far as the limit of its own that it may not."""
    hard = resource.getrlimit(kind)[1]
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _receive(connection: socket.socket, count: int) -> bytes:
    """So many bytes. EOFError at the end of the stream."""
    data = bytearray(count)
    view = memoryview(data)
    while view:
        read = connection.recv_into(view)
        if not read:
            raise EOFError
        view = view[read:]
    return bytes(data)
