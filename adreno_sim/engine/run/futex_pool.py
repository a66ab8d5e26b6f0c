"""Native code (`runtime/futex_pool.c`) by which a launching thread hands work to other threads without the interpreter or its
lock.

Each thread waits at a mailbox: a few words of memory, zero while there is nothing to do. A launch writes what to call, then
the state, and wakes the thread with a futex. Both sides spin on the state for some microseconds before they sleep. The
launching thread takes back and runs what no thread has started when it is done with its own part, so a launch never waits for
a busy processor.
"""

from __future__ import annotations

import ctypes
import functools
from typing import NamedTuple

from ..caching import compiled_cache
from ..emit.c_runtime import runtime
from ..llvm import objects

_TABLE = "handover"
"""The exported symbol: an array of the addresses of the functions."""


class FutexPool(NamedTuple):
    """The native functions. They release the GIL; addresses are of mailboxes.

    serve(mailbox): runs the calls published at a mailbox, for ever.
    publish(mailboxes, count): publishes the calls written in consecutive mailboxes, and returns at once.
    join(mailboxes, count): runs calls that no thread has started, waits for the others, and returns how many those were.
    run_and_join(mailboxes, count, code, context, arguments, memory): publishes, makes this call here, and joins.
    wait_idle(mailbox, nanoseconds, spins): spins, then sleeps for at most so long or until a signal; returns whether the
        mailbox is idle.
    """

    loaded: objects.Loaded
    serve: ctypes._CFunctionType
    publish: ctypes._CFunctionType
    join: ctypes._CFunctionType
    run_and_join: ctypes._CFunctionType
    wait_idle: ctypes._CFunctionType


@functools.cache
def futex_pool() -> FutexPool:
    """Returns the functions, compiled once a process."""
    names = FutexPool._fields[1:]
    table = f"@{_TABLE} = constant [{len(names)} x ptr] [{', '.join(f'ptr @{name}' for name in names)}]\n"
    loaded = compiled_cache.load_linked(table + runtime().needed_for(names).text(), _TABLE)
    word = ctypes.c_size_t
    signatures = [(None, 1), (None, 2), (word, 2), (word, 6), (word, 3)]
    addresses = (word * len(names)).from_address(loaded.address)
    functions = (ctypes.CFUNCTYPE(result, *[word] * count)(at) for at, (result, count) in zip(addresses, signatures, strict=True))
    return FutexPool(loaded, *functions)
