"""Native code that belongs to no kernel: what a worker does in a launch (`runtime/work.c`), and how a launching thread hands work
to other threads without the interpreter or its lock (`runtime/futex_pool.c`).

Each thread waits at a mailbox: a few words of memory, zero while there is nothing to do. A launch writes what to call, then
the state, and wakes the thread with a futex. Both sides spin on the state for some microseconds before they sleep. The
launching thread takes back and runs what no thread has started when it is done with its own part, so a launch never waits for
a busy processor.
"""

from __future__ import annotations

import ctypes
import functools

from ...base.errors import UnsupportedError
from ...records import dataclass
from ..caching import compiled_cache
from ..emit.c_runtime import WORK, renew_runtime, runtime
from ..llvm import objects

_TABLE = "native"
"""The exported symbol: an array of the addresses of the functions."""
_WORD = ctypes.c_size_t
SIGNATURES = {
    "serve": (None, 1), "publish": (None, 2), "join": (_WORD, 2), "run_and_join": (_WORD, 6), "wait_idle": (_WORD, 3),
}  # fmt: skip
"""The result, and how many words each takes."""
_NAMES = (WORK, *SIGNATURES)


@dataclass(frozen=True)
class NativeFunctions:
    """The native functions. They release the GIL; addresses are of mailboxes.

    work: the address of what the code of every kernel calls.
    serve(mailbox): runs the calls published at a mailbox, for ever.
    publish(mailboxes, count): publishes the calls written in consecutive mailboxes, and returns at once.
    join(mailboxes, count): runs calls that no thread has started, waits for the others, and returns how many those were.
    run_and_join(mailboxes, count, code, context, arguments, memory): publishes, makes this call here, and joins.
    wait_idle(mailbox, nanoseconds, spins): spins, then sleeps for at most so long or until a signal; returns whether the
        mailbox is idle.
    """

    loaded: objects.Loaded
    work: int
    serve: ctypes._CFunctionType
    publish: ctypes._CFunctionType
    join: ctypes._CFunctionType
    run_and_join: ctypes._CFunctionType
    wait_idle: ctypes._CFunctionType


_made: list[NativeFunctions] = []
"""Two threads may both make them at first, and kernels be linked to either: all stay in memory."""


@functools.cache
def native_functions() -> NativeFunctions:
    """Returns the functions, compiled once a process."""
    try:
        loaded = _link()
    except (RuntimeError, ValueError, UnsupportedError):  # for a text that was kept on disk
        if not renew_runtime():
            raise
        loaded = _link()
    work, *others = (_WORD * len(_NAMES)).from_address(loaded.address)
    native = {
        name: ctypes.CFUNCTYPE(result, *[_WORD] * count)(address)
        for (name, (result, count)), address in zip(SIGNATURES.items(), others, strict=True)
    }
    _made.append(NativeFunctions(loaded, work, **native))
    return _made[-1]


def _link() -> objects.Loaded:
    table = f"@{_TABLE} = constant [{len(_NAMES)} x ptr] [{', '.join(f'ptr @{name}' for name in _NAMES)}]\n"
    return compiled_cache.load_linked(objects.QUICK + table + runtime().needed_for(_NAMES).text(), _TABLE)
