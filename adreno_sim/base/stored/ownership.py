"""Whose files are: what another user could have written is not read back.

A digest beside an entry tells damage, and nothing of who wrote it: whoever can write the entry can write its digest. A key of
this user's would tell it, and make worthless what a CI system restores from an earlier run on a machine with another key; kept
with the cache, the key would be as open as that. So owners and modes decide. Root may write anything anyway: its files are
trusted.
"""

from __future__ import annotations

import functools
import os
import stat
from pathlib import Path

_UNMAPPED = 65534
"""The owner that Linux shows for whom a user namespace does not know: nobody inside can act as that user."""


def find_stranger(status: os.stat_result) -> str:
    """Why a file or folder with this status may be another user's work; "" if it is this user's alone."""
    if status.st_uid not in (0, os.geteuid()):
        return f"it belongs to user {status.st_uid}, not to user {os.geteuid()}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write there (chmod go-w prevents that)"
    return ""


def find_intruder(folder: Path) -> str:
    """Why others may put files into `folder`, or another folder in its place; "" if nobody can, or it does not exist yet."""
    try:
        return _find_intruder(os.path.abspath(folder), os.stat(folder).st_ctime_ns)
    except OSError:
        return ""


@functools.lru_cache(64)
def _find_intruder(folder: str, changed: int) -> str:
    """changed: when the status of the folder last changed. Raises OSError."""
    place = Path(os.path.realpath(folder))
    if reason := find_stranger(os.stat(place)):
        return f"{folder}: {reason}"
    for parent in place.parents:
        status = os.stat(parent)
        if status.st_uid not in (0, os.geteuid(), _UNMAPPED):
            return f"{parent}: it belongs to user {status.st_uid}, who could put another folder instead of {folder}"
        shared = status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and status.st_gid != status.st_uid)
        if shared and not status.st_mode & stat.S_ISVTX:
            return f"{parent}: others may write there, and put another folder instead of {folder}"
    return ""
