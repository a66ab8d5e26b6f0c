"""Runs a compiler as a separate process, within limits of time, memory and output.

Nothing is written to disk: source, output and messages pass through anonymous memory files, so that any number of
processes can compile at once and a read-only home does not matter.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import select
import signal
import subprocess
from typing import BinaryIO

from ..base.errors import AdrenoSimError
from ..records import dataclass

TIME_LIMIT = 30.0
"""Seconds of CPU time that one compilation may take."""
WALL_FACTOR = 4
"""It may last so many times as long, on a machine with other work."""
MEMORY_LIMIT = 2 << 30
"""Bytes of address space."""
OUTPUT_LIMIT = 64 << 20
"""Bytes of what it writes, of messages too."""

_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGBUS, signal.SIGFPE, signal.SIGTRAP, signal.SIGSYS)
_STACK = "Stack dump:"
"""What clang prints where it crashes."""
_NO_MEMORY = ("out of memory", "bad_alloc", "Allocation failed", "OutOfMemory")
LIKELY_CAUSE = "are there macros, initialisers or brackets that grow without end?"
"""What a user's source that meets a limit has."""


@dataclass(frozen=True)
class Ended:
    """The end of a compiler: its exit status (negative: the signal that stopped it), what it wrote, and its messages."""

    status: int
    output: bytes
    messages: str

    @property
    def is_good(self) -> bool:
        return self.status == 0 and bool(self.output)

    def find_limit(self) -> str:
        """Returns which limit, of this module or of clang's stack, ended it, as a sentence; "" if none did."""
        if self.status == -signal.SIGXCPU:
            return f"the compiler took longer than {TIME_LIMIT:.0f} s, adreno-sim's limit for one program"
        if self.status == -signal.SIGXFSZ or len(self.output) >= OUTPUT_LIMIT:
            return f"the compiler wrote more than {OUTPUT_LIMIT >> 20} MiB, adreno-sim's limit for one program"
        if self.status == -signal.SIGSEGV and _STACK not in self.messages:  # it has none left to print it on
            return (
                "the compiler's stack overflowed, which is clang's own limit for brackets, operators and statements within one "
                "another: split what is nested most deeply into variables or functions"
            )
        if any(sign in self.messages for sign in _NO_MEMORY):
            return f"the compiler needs more than {MEMORY_LIMIT >> 20} MiB of memory, adreno-sim's limit for one program"
        return ""

    def find_crash(self) -> str:
        """Returns the name of the signal that ended the compiler by its own defect, "" for any other end.

        clang catches signals: it prints its stack, and exits with 128 and the number.
        """
        number = -self.status if self.status < 0 else self.status - 128
        return signal.Signals(number).name if number in _CRASHES and not self.find_limit() else ""

    def describe(self) -> str:
        """Returns the end of a compiler that failed without a diagnostic."""
        if self.status < 0:
            return f"the compiler was stopped by {signal.Signals(-self.status).name} (source too large or nested too deeply?)"
        return f"the compiler failed with status {self.status}: {self.messages.strip()[:500] or 'no message'}"


def execute(command: list[str], source: bytes, overlay: bytes | None = None) -> Ended:
    """Runs `command` on `source`. `overlay` is the text of clang's overlay file; with it, nothing else is read."""
    with contextlib.ExitStack() as files:
        given, out, err = (files.enter_context(_memory_file(content)) for content in (source, b"", b""))
        handles: tuple[int, ...] = ()
        if overlay is not None:
            handles = (files.enter_context(_memory_file(overlay)).fileno(),)
            command = [*command, "-ivfsoverlay", f"/proc/self/fd/{handles[0]}"]
        try:
            process = subprocess.Popen(command, stdin=given, stdout=out, stderr=err, pass_fds=handles, env=_environment())
        except OSError as error:
            raise AdrenoSimError(f"cannot run {command[0]}: {error.strerror}") from None
        _limit(process.pid)
        try:
            in_time = _wait(process)
        finally:
            if process.poll() is None:
                process.kill()
        status = process.wait() if in_time else -signal.SIGXCPU
        return Ended(status, _content(out), _content(err).decode("utf-8", "surrogateescape"))


def _environment() -> dict[str, str]:
    """Returns this process's, without the variables that give clang more folders and options. Relative names start at the real
    path of the working folder, as in the overlay."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CPATH", "C_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS")}
    with contextlib.suppress(OSError):
        kept["PWD"] = os.getcwd()
    return kept


def _wait(process: subprocess.Popen[bytes]) -> bool:
    """Waits for the end, without the polling of `Popen.wait(timeout)`, which costs up to its own duration again."""
    limit = TIME_LIMIT * WALL_FACTOR
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:  # kernels before 5.3, and sandboxes
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(limit)
        return process.poll() is not None
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(limit * 1000))
    finally:
        os.close(handle)


def _memory_file(content: bytes) -> BinaryIO:
    file = os.fdopen(os.memfd_create("adreno-sim"), "w+b")
    file.write(content)
    file.seek(0)
    return file


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(OUTPUT_LIMIT)


def _limit(pid: int) -> None:
    seconds = math.ceil(TIME_LIMIT)
    try:
        resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.prlimit(pid, resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (OUTPUT_LIMIT, OUTPUT_LIMIT))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    except (ProcessLookupError, PermissionError, ValueError):
        pass  # it has ended already, or runs under stricter limits
