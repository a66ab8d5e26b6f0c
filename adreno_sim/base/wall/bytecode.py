"""Python's bytecode of this package, for modules that are imported behind the wall.

Bytecode is code of the next run, so nothing behind the wall may write it. `pip install` of a wheel compiles all modules, but
`pip install -e` compiles none: each command would compile hundreds of modules again. A child by fork, which stays outside,
compiles them once, while the command runs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from importlib.util import cache_from_source
from pathlib import Path

from ..code_digest import PACKAGE
from ..processes.descriptors import close_others
from ..processes.parent import end_with

_SIGNS = ("cli", "backends/sim", "base", "engine/run", "frontend/llvm_reader", "icd", "render/report", "compiler/check")
"""Folders that tell whether all have their bytecode: most changes of a version are in one of them."""


def begin_compiling() -> None:
    """Have a child compile the package, if its bytecode is missing or older than its folders, and this user may write it.

    The child ends with this process at the latest; the next command goes on.
    """
    if sys.dont_write_bytecode or not is_stale(PACKAGE) or not _is_writable(_find_cache(PACKAGE)):
        return
    parent = os.getpid()
    with contextlib.suppress(OSError):
        if os.fork() == 0:
            try:
                end_with(parent)
                os.nice(10)
                nothing = os.open(os.devnull, os.O_RDWR)
                for stream in range(3):
                    os.dup2(nothing, stream)
                close_others()
                compile_package(PACKAGE)
            finally:
                os._exit(0)


def is_stale(package: Path) -> bool:
    """Whether a folder was changed after its bytecode was complete: a file in it is new, or was replaced as git does it."""
    return any(_is_older(package / name) for name in _SIGNS)


def compile_package(package: Path) -> None:
    """Compile every module whose bytecode is missing or old, and note that it is complete."""
    import compileall

    for folder, _, names in os.walk(package, followlinks=True):
        if os.path.basename(folder) == "__pycache__":
            continue
        sources = [os.path.join(folder, name) for name in names if name.endswith(".py")]
        for source in sources:
            compileall.compile_file(source, quiet=2)
        if sources:
            with contextlib.suppress(OSError):
                os.utime(_find_cache(Path(folder)))


def _is_older(folder: Path) -> bool:
    try:
        return os.stat(_find_cache(folder)).st_mtime_ns < os.stat(folder).st_mtime_ns
    except OSError:
        return True


def _find_cache(folder: Path) -> Path:
    """The folder of the bytecode of a folder's modules."""
    return Path(cache_from_source(str(folder / "module.py"))).parent


def _is_writable(folder: Path) -> bool:
    """Whether this user may write to a folder, or make it."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)
