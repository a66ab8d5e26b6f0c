"""Functions of the search as machine code, kept on disk between processes where anything is."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache

from ....base import disk_cache
from ....base.code_digest import code_digest
from ....base.stored.ownership import find_intruder

KIND = "search"
_LOCATOR = "UserProvidedCacheLocator"
"""numba's name for the folder that it is given; without it numba would write beside the source where the folder is read-only."""

_lock = threading.Lock()


def compiled(function: Callable[..., Any]) -> Any:
    """The function as numba compiles it when it is first called, or as another process did.

    Its files are in a folder that is named by the code of the whole search: numba notices edits of a function's own file
    alone. Where nothing may be written, nothing is. Its files are code, as numba writes it: where others may have written one,
    none is used.
    """
    folder = disk_cache.folder(KIND) / code_digest(KIND)
    if not disk_cache.is_enabled() or not _is_own(folder):
        return numba.njit(nogil=True)(function)
    with _lock:
        before = numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES
        numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES = str(folder), _LOCATOR
        made = numba.njit(nogil=True)(function)
        try:
            made._cache = _Files(function)
        except RuntimeError:  # the folder cannot be written
            pass
        finally:
            numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES = before
        return made


class _Files(FunctionCache):
    """numba's files of a function: what cannot be read is made again, and what cannot be written, as on a full disk, is not kept.
    numba raises both from wherever the function is called first."""

    def load_overload(self, *words: Any) -> Any:
        try:
            return super().load_overload(*words)
        except Exception:  # of any kind: a file may hold anything
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, *words: Any) -> None:
        with contextlib.suppress(OSError):
            super().save_overload(*words)


def _is_own(folder: Path) -> bool:
    """Whether the folder, made here if there is none, holds nothing that others could have written. numba makes folders and files
    in it by the umask: nobody else comes that far."""
    try:
        disk_cache.make_folder(folder.parent)
        disk_cache.make_folder(folder)
        if stat.S_IMODE(folder.stat().st_mode) != 0o700:
            folder.chmod(0o700)
        return not find_intruder(folder) and all(
            _has_own_owner(Path(at, name)) for at, *inside in os.walk(folder) for names in inside for name in names
        )
    except OSError:
        return False


def _has_own_owner(path: Path) -> bool:
    status = path.lstat()
    return status.st_uid in (0, os.geteuid()) and not stat.S_ISLNK(status.st_mode)
