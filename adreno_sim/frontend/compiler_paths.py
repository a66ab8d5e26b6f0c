"""The programs that compile: what a process that may start no others must still start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..base.errors import AdrenoSimError
from .driver import find_zig

_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
"""What starts a program with shared libraries; ziglang's has none."""


def compiler_paths() -> Iterator[Path]:
    """The compiler, and what it needs to start."""
    chosen = os.environ.get("ADRENO_SIM_CLANG")
    if chosen:
        found = shutil.which(chosen) or chosen
        yield Path(os.path.realpath(found))
        yield from map(Path, _LOADERS)
        return
    try:
        yield Path(os.path.realpath(find_zig()))
    except AdrenoSimError:  # whoever compiles says so
        return
