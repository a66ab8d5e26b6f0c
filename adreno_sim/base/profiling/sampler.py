"""Samples the Python stacks of this process and of its children by fork, and the processor time of each.

A thread looks at all other threads every few milliseconds. Code that holds Python's lock, as TVM's does, keeps it waiting: the
next sample counts for all that time. What it finds goes to an unnamed file that the children inherit.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

INTERVAL = 0.004
_FLUSH = 0.1
"""Seconds between two writes: what a child loses that is killed."""
_DEEPEST = 120
"""Frames of a stack that are kept, the outermost."""
_LOWEST = 200
"""Descriptors from here on: children reuse the lowest."""


class _Sampler:
    """The thread of one process."""

    def __init__(self, log: int):
        self._log, self._identity = log, _identify(log)
        self._labels: dict[CodeType, str] = {}
        self._lines: list[str] = []
        self._same: dict[int, list[Any]] = {}
        self._last = time.perf_counter()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="profile", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        self._write()

    def note(self, record: object) -> None:
        self._lines.append(json.dumps(record))

    def _run(self) -> None:
        own, written = threading.get_ident(), 0.0
        while not self._ended.wait(INTERVAL):
            now = time.perf_counter()
            names = {thread.ident: thread.name for thread in threading.enumerate()}
            for thread, frame in sys._current_frames().items():
                if thread != own:
                    self._note_stack(thread, names.get(thread, str(thread)), now, self._name_stack(frame))
            self._last = now
            if now - written > _FLUSH:
                written = now
                if not self._write():
                    return

    def _note_stack(self, thread: int, name: str, now: float, stack: list[str]) -> None:
        """One record for a stack that stays as it is."""
        known = self._same.get(thread)
        if known is not None and known[4] == self._last and known[5] == stack:
            known[4] = now
            return
        if known is not None:
            self.note(known)
        self._same[thread] = ["stack", os.getpid(), name, self._last, now, stack]

    def _name_stack(self, frame: FrameType | None) -> list[str]:
        found = []
        while frame is not None:
            code = frame.f_code
            if code not in self._labels:
                file = "/".join(code.co_filename.removesuffix(".py").split("/")[-2:])
                self._labels[code] = f"{code.co_name} ({file}:{code.co_firstlineno})"
            found.append(self._labels[code])
            frame = frame.f_back
        return found[::-1][:_DEEPEST]

    def _write(self) -> bool:
        """Returns False where this process no longer has the file: a child that keeps no descriptor."""
        if _identify(self._log) != self._identity:
            return False
        for known in self._same.values():
            self.note(known)
        self._same.clear()
        self.note(["processor", os.getpid(), time.perf_counter(), time.process_time()])
        lines, self._lines = self._lines, []
        os.write(self._log, "".join(f"{line}\n" for line in lines).encode())
        return True


_sampler: _Sampler | None = None


@contextmanager
def sampling() -> Iterator[Iterator[list[object]]]:
    """Samples this process and its children while the block runs. Yields the records, to be read after the block."""
    global _sampler
    file = os.memfd_create("profile")
    log = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _LOWEST)
    os.close(file)
    fcntl.fcntl(log, fcntl.F_SETFL, os.O_APPEND)
    _sampler = _Sampler(log)
    try:
        yield _read(log)
    finally:
        _sampler.end()
        _sampler = None


def note_span(name: str, start: float, end: float) -> None:
    """Notes a stage of a command, in seconds of `time.perf_counter`. Does nothing unless this process is sampled."""
    if _sampler is not None:
        _sampler.note(["span", os.getpid(), name, start, end])


def find_log() -> int:
    """Returns the descriptor that a child must keep, -1 if this process is not sampled."""
    return -1 if _sampler is None else _sampler._log


def _read(log: int) -> Iterator[list[object]]:
    with open(log, "rb") as file:
        file.seek(0)
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)


def _identify(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _begin_in_child() -> None:
    """The sampler's thread is not there after a fork: another one is begun."""
    global _sampler
    if _sampler is not None:
        _sampler = _Sampler(_sampler._log)


os.register_at_fork(after_in_child=_begin_in_child)
