"""Puts this process behind the wall of `base/wall`, with what compiling and running kernels needs."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..base import disk_cache
from ..base.errors import AdrenoSimError
from ..base.processes.scratch import find_no_folder, make_scratch_folder
from ..base.wall.enter import Openings, enter
from ..base.wall.outputs import begin_keeper
from .driver import find_zig

_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
"""What starts a program with shared libraries; ziglang's has none."""


def enter_sandbox(
    *,
    read: Iterable[str | os.PathLike[str]] = (),
    listed: Iterable[str | os.PathLike[str]] = (),
    write: Iterable[str | os.PathLike[str]] = (),
    outputs: Iterable[str | os.PathLike[str]] = (),
) -> str:
    """Restrict this process for good, with all that it starts: to reading `read` (files, and folders with all that is in them),
    Python and the system; to writing below `write`, to the cache and a separate folder; to starting the compiler; to no socket.

    listed: folders whose names alone may be read. outputs: files that this package writes as a whole, and new folders, in
    folders that stay closed. Returns what this system cannot do of it, as a sentence, "" for nothing. AdrenoSimError if the
    process has more threads than one, which NumPy begins when it is imported: those would stay outside.
    """
    try:
        outside = Path(tempfile.gettempdir())
        scratch = make_scratch_folder("sandbox")
        with contextlib.suppress(OSError):  # a cache that cannot be is none, as without the wall
            make_cache_folder()
        begin_keeper(outputs, scratch)
    except OSError as error:
        raise AdrenoSimError(f"the sandbox cannot be made: {find_no_folder() or error.strerror or error}") from error
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)
    write_to, names = (scratch, *map(Path, write)), tuple(map(Path, listed))
    openings = Openings(tuple(map(Path, read)), write_to, tuple(find_compiler()), names, (outside,))
    return enter(openings)


def make_cache_folder() -> None:
    """Make the folder of the cache, which the wall then leaves open. Raises OSError."""
    if disk_cache.is_enabled():
        disk_cache.make_folder(disk_cache.root())


def find_compiler() -> Iterator[Path]:
    """The compiler, and what it needs to start."""
    chosen = os.environ.get("ADRENO_SIM_CLANG")
    if chosen:
        yield Path(os.path.realpath(shutil.which(chosen) or chosen))
        yield from map(Path, _LOADERS)
        return
    try:
        yield Path(os.path.realpath(find_zig()))
    except AdrenoSimError:  # whoever compiles says so
        return
