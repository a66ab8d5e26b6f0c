"""Loads `shim/server_wait.c`: how the server's thread at the ring says what is done, and waits for commands."""

from __future__ import annotations

import ctypes
import functools
import hashlib
from pathlib import Path
from typing import NamedTuple

from ..base import disk_cache
from ..base.host.current import current_family
from ..engine.llvm import objects
from ..frontend.driver import c_target, compile_c, identify_compiler
from .protocol import COUNTERS

_SOURCE = Path(__file__).parent / "shim" / "server_wait.c"
_FLAGS = ("-std=c11", "-O2", "-fPIC", "-ffreestanding", "-nostdinc", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
          "-fno-sanitize=all")  # fmt: skip


class Waiting(NamedTuple):
    """advance(link, tail, completed, spins, nanoseconds) -> head: publishes tail and completed at the address of the link memory,
    wakes who waits for that, and returns the ring's head: at once if it differs from tail, else after looking `spins` times, and
    after sleeping at most so long. It releases the GIL.

    wake(link): ends the sleep of another thread in `advance`."""

    loaded: objects.Loaded
    advance: ctypes._CFunctionType
    wake: ctypes._CFunctionType


@functools.cache
def load_waiting() -> Waiting:
    """Returns the functions, compiled once a process."""
    loaded = objects.machine().load(compile_waiting(), "functions")
    advance, wake = (ctypes.c_size_t * 2).from_address(loaded.address)
    word = ctypes.c_uint64
    return Waiting(loaded, ctypes.CFUNCTYPE(word, *[word] * 5)(advance), ctypes.CFUNCTYPE(None, word)(wake))


def compile_waiting() -> bytes:
    """Returns the object code of `server_wait.c`, which is kept on disk."""
    constants = "".join(f"#define AT_{name.upper()} {place}\n" for name, place in COUNTERS.items())
    source = constants + current_family().header.read_text(encoding="utf-8") + _SOURCE.read_text(encoding="utf-8")
    key = hashlib.sha256("\0".join((source, identify_compiler(), *c_target(), *_FLAGS)).encode()).hexdigest()
    path = disk_cache.folder("runtime") / f"{key}.o"
    code = disk_cache.load(path)
    if code is None:
        code = compile_c(source, _FLAGS)
        disk_cache.store(path, code)
    return code
