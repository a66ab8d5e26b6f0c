"""Work that a child by fork does while this process goes on: a second core for what holds Python's lock, or would wait for it."""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from ..garbage import begin_child
from .crashes import CRASHES
from .parent import end_with

T = TypeVar("T")


def count_native_threads() -> int:
    """Threads of this process that Python does not know: libraries began them. A child by fork has none of those that begin
    after a library was loaded, and its copy of the library waits for them."""
    return len(os.listdir("/proc/self/task")) - threading.active_count()


class EndedError(Exception):
    """A signal ended a child. The text says which."""


@contextmanager
def doing_beside(work: Callable[[], T], fork: bool = True, risky: bool = False) -> Iterator[Callable[[], T]]:
    """Begin `work` in a child; what the block gets returns what it returned, after it has ended.

    Where the child ends in any other way (an error, a crash, a result that does not pickle), and where there is none (`fork`), it
    is this process that does the work then: errors and crashes are its own. risky: a crash shall not become this process's; it is
    an EndedError. The child does not outlive the block.
    """
    child, file = _begin(work) if fork else (0, -1)

    def finish() -> T:
        nonlocal child
        if child:
            status, child = _wait(child), 0
            if status == 0:
                with open(os.dup(file), "rb") as result:
                    result.seek(0)
                    found: T = pickle.load(result)
                return found
            if status < 0 and risky:
                raise EndedError(f"ended by {signal.Signals(-status).name}")
        return work()

    try:
        yield finish
    finally:
        if child:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            _wait(child)
        if file >= 0:
            os.close(file)


def _begin(work: Callable[[], object]) -> tuple[int, int]:
    """The child, 0 where the system gives none, and the file for its result."""
    file, parent = os.memfd_create("result"), os.getpid()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which the caller has thought of
            child = os.fork()
    except OSError:
        return 0, file
    if child == 0:
        code = 1
        try:
            end_with(parent)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this one
            faulthandler.disable()
            begin_child()
            for number in CRASHES - {signal.SIGKILL}:  # TVM's handler would print a stack that says nothing of this work
                signal.signal(number, signal.SIG_DFL)
            with open(file, "wb") as result:
                pickle.dump(work(), result, protocol=pickle.HIGHEST_PROTOCOL)
            code = 0
        finally:
            os._exit(code)
    return child, file


def _wait(child: int) -> int:
    """The child's exit code, or its signal below 0; 1 where somebody else has waited for it."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except ChildProcessError:
        return 1
