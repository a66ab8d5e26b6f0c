"""Removes folders of a package so that they come back where something still needs them, and after an interruption."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ...base.errors import AdrenoSimError

ASIDE = ".adreno-sim-pruned"
"""The folder in the package where what is removed lies until it is known not to be needed."""
_DROPPED = ".adreno-sim-dropped"
"""The same folder from then on: what is left of it is not put back."""


@contextlib.contextmanager
def changing(package: Path) -> Iterator[None]:
    """Lets no second call change the package meanwhile: the folder is locked until the block, or the process, ends.

    AdrenoSimError if another call changes it.
    """
    try:
        handle = os.open(package, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise AdrenoSimError(f"{package}: cannot be opened ({error.strerror}); nothing was removed") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AdrenoSimError(f"{package}: another `adreno-sim prune` changes it: wait until it ends") from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(handle)


def restore(package: Path) -> bool:
    """Puts back what lies aside, as after an interruption; returns whether there was anything."""
    shutil.rmtree(package / _DROPPED, ignore_errors=True)
    aside = package / ASIDE
    if not aside.is_dir() or aside.is_symlink():
        return False
    for name in os.listdir(aside):
        place = package / name.replace("+", "/")
        if not place.exists():
            os.rename(aside / name, place)
    shutil.rmtree(aside)
    return True


def remove(package: Path, paths: Sequence[str], find_harm: Callable[[], str]) -> None:
    """Removes folders, relative to the package. find_harm: says what does not work without them, "" if all does.

    AdrenoSimError, with everything back in its place, where something does not; where the package cannot be written, too.
    """
    try:
        (package / ASIDE).mkdir()
        for path in paths:
            os.rename(package / path, package / ASIDE / path.replace("/", "+"))
        harm = find_harm()
    except OSError as error:
        restore(package)
        raise AdrenoSimError(f"{package}: cannot be changed ({error.strerror}); nothing was removed") from None
    except BaseException:
        restore(package)
        raise
    if harm:
        restore(package)
        raise AdrenoSimError(f"{harm}; everything was put back, nothing is removed")
    os.rename(package / ASIDE, package / _DROPPED)
    shutil.rmtree(package / _DROPPED, ignore_errors=True)
