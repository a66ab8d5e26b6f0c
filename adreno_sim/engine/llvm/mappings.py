"""Mappings of loaded code: Linux gives a process 65,530 of them, and LLVM's linker takes two for each object that it loads.

The linker lays an object's constants, which are read-only, right before its code. Where they may be executed as well, both are
alike; Linux joins neighbours that are, so that all objects together take few mappings. Of what code can do, nothing changes:
numbers that a kernel names are in its code, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap

_MAPPINGS = "/proc/self/maps"


def join_constants(address: int) -> None:
    """Let the constants before the code at `address` be executed, if there are any; where that cannot be, two mappings stay."""
    with contextlib.suppress(OSError):
        start, end = _find_constants(address)
        if start < end:
            words = ctypes.c_void_p(start), ctypes.c_size_t(end - start), mmap.PROT_READ | mmap.PROT_EXEC
            ctypes.CDLL(None).mprotect(*words)


def _find_constants(address: int) -> tuple[int, int]:
    """First and last address of the mapping that ends where the one with `address` begins, if it is read-only memory of no file;
    else an empty one."""
    before = 0, 0
    with open(_MAPPINGS, encoding="ascii", errors="replace") as file:
        for line in file:
            place, may, _, _, inode, *_ = line.split(maxsplit=5)
            start, end = (int(word, 16) for word in place.split("-"))
            if start <= address < end:
                return before if before[1] == start else (0, 0)
            before = (start, end) if may == "r--p" and inode == "0" else (0, 0)
    return 0, 0
