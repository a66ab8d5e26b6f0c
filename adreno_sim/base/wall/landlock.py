"""Linux' Landlock: which files this process may still open, and for what.

It holds for the thread that asks, and for all threads and processes that it starts later; nothing takes it back. Numbers are
those of <linux/landlock.h>. What a kernel does not know yet is left out, as its documentation asks.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable
from enum import IntFlag
from pathlib import Path

from .system_call import call, give_up_privileges

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""System calls, with the same numbers on all processors."""
_ASK_VERSION, _PATH_BENEATH = 1, 1


class Right(IntFlag):
    """What may be done to files below a folder, or to one file."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


READ = Right.READ_FILE | Right.READ_DIR
WRITE = (
    READ | Right.WRITE_FILE | Right.TRUNCATE | Right.REMOVE_DIR | Right.REMOVE_FILE | Right.MAKE_DIR | Right.MAKE_REG
    | Right.MAKE_SYM | Right.REFER
)  # fmt: skip
"""Of a folder that is this process's to fill: all but devices, sockets and programs."""
_OF_FILES = Right.EXECUTE | Right.WRITE_FILE | Right.READ_FILE | Right.TRUNCATE | Right.IOCTL_DEV
"""What a rule for one file may name."""
_SINCE = {Right.REFER: 2, Right.TRUNCATE: 3, Right.IOCTL_DEV: 5}
"""The version of Landlock that knows a right, where it is not the first."""

_BIND_TCP, _CONNECT_TCP, _NET_SINCE = 1, 2, 4
_ABSTRACT_SOCKETS, _SIGNALS, _SCOPES_SINCE = 1, 2, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _layout_, _pack_ = "ms", 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def find_version() -> int:
    """The version of Landlock that this kernel has; 0 for none: a kernel older than 5.13, or one that was started without it."""
    try:
        return call(_CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def handled_rights(version: int) -> Right:
    """The rights that a kernel of this version controls."""
    return Right(sum(right for right in Right if _SINCE.get(right, 1) <= version))


def restrict(rules: Iterable[tuple[Path, Right]], version: int) -> None:
    """Allow what the rules say, and nothing else: no other file, no TCP, no signal to a process outside. What `version` does not
    know stays open.

    A rule for a path that cannot be opened says nothing, so the path stays closed: there is no file, or links lead in a circle.
    Raises OSError.
    """
    handled = handled_rights(version)
    network = _BIND_TCP | _CONNECT_TCP if version >= _NET_SINCE else 0
    scopes = _ABSTRACT_SOCKETS | _SIGNALS if version >= _SCOPES_SINCE else 0
    size = 8 * (1 + (version >= _NET_SINCE) + (version >= _SCOPES_SINCE))
    ruleset = call(_CREATE, ctypes.byref(_Ruleset(handled, network, scopes)), size, 0)
    try:
        for path, right in rules:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            _allow(ruleset, descriptor, right & handled)
        give_up_privileges()
        call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, descriptor: int, right: Right) -> None:
    """Add a rule for an open file or folder, and close it."""
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            right &= _OF_FILES
        if right:
            call(_ADD, ruleset, _PATH_BENEATH, ctypes.byref(_PathBeneath(right, descriptor)), 0)
    except OSError as error:
        if error.errno != errno.EBADFD:  # a pipe, which no rule is for, and none is needed
            raise
    finally:
        os.close(descriptor)
