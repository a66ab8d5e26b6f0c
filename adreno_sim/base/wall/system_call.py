"""System calls that the C library has no functions for."""

from __future__ import annotations

import ctypes
import functools
import os

_NO_NEW_PRIVILEGES = 38
"""PR_SET_NO_NEW_PRIVS of prctl: needed by whoever restricts itself without being root."""


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments: object) -> int:
    """What the system call returns. Raises OSError."""
    wide = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result: int = _libc().syscall(ctypes.c_long(number), *wide)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def give_up_privileges() -> None:
    """From now on no program that this process starts gets rights that it has not. Raises OSError."""
    if _libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
