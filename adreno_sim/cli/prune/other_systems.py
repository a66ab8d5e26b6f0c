"""The folders of the package ziglang that nothing here needs.

The package holds the C libraries of all systems that it compiles for, as headers and sources: more than half of it. Kernels are
compiled without any. The OpenCL driver is compiled with glibc's, unless an installation has the compiled driver.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_SYSTEMS = {
    "Windows": re.compile(r"libc/(mingw|include/[\w.]+-windows-\w+)"),
    "macOS": re.compile(r"libc/(darwin|include/[\w.]+-darwin-\w+)"),
    "FreeBSD": re.compile(r"libc/(freebsd|include/(generic-freebsd|[\w.]+-freebsd-\w+))"),
    "NetBSD": re.compile(r"libc/(netbsd|include/(generic-netbsd|[\w.]+-netbsd-\w+))"),
    "OpenBSD": re.compile(r"libc/(openbsd|include/(generic-openbsd|[\w.]+-openbsd-\w+))"),
    "WebAssembly": re.compile(r"libc/(wasi|include/[\w.]+-wasi-\w+)"),
    "documentation": re.compile(r"docs|build-web"),
}
"""By the name that people know: its folders below `lib`."""


_C_LIBRARIES = "C libraries"
"""The same for all that is below `lib`, where the OpenCL driver need not be compiled."""


class Part(NamedTuple):
    """A folder that may go, relative to the package. nbytes: on disk."""

    system: str
    path: str
    nbytes: int


def find_parts(package: Path, has_driver: bool = False) -> list[Part]:
    """Returns the folders of the package that may go, in the order of their names. Links are not followed, nor counted.

    has_driver: whether this installation has the OpenCL driver compiled. Without it, only folders for other systems than Linux
    may go.
    """
    lib = package / "lib"
    if has_driver:
        return [Part(_C_LIBRARIES, f"lib/{name}", measure(lib / name)) for name in sorted(_list_folders(lib, ("",)))]
    return [
        Part(system, f"lib/{name}", measure(lib / name))
        for name in sorted(_list_folders(lib))
        for system, names in _SYSTEMS.items()
        if names.fullmatch(name)
    ]


def _list_folders(lib: Path, folders: Sequence[str] = ("", "libc/", "libc/include/")) -> Iterator[str]:
    """Folders of `lib`, of its `libc`, and of the headers there."""
    for below in folders:
        folder = lib / below
        if folder.is_dir() and not folder.is_symlink():
            yield from (f"{below}{entry.name}" for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))


def measure(folder: Path) -> int:
    """Returns the bytes that a folder takes on disk: whole blocks, each file once."""
    seen: dict[tuple[int, int], int] = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            status = os.lstat(os.path.join(parent, name))
            seen[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(seen.values())
