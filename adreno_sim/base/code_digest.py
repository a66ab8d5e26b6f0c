"""Digests of this package's own code: what other code made is made again.

The table says for each kind of entry on disk which code decides what is in it: the package that makes the entry, and all that
this package imports, directly or not.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from .errors import AdrenoSimError

_CLANG = tuple(
    f"frontend/{name}.py"
    for name in (
        "driver", "compiler_crash", "compiler_process", "constant_arithmetic", "diagnostics", "file_references", "image_access",
        "llvm_reader/words", "options", "visible_files", "wide_vectors",
    )
)  # fmt: skip
_BASE = ("base", "records.py")
_RUNTIME = ("engine/runtime", *_CLANG, *_BASE)
_FRONTEND = ("frontend", "ir", *_BASE)
_DEVICE = ("device", "mlops", "image", "profiles", "findings.py", *_BASE)
_ENGINE = ("engine", "frontend", "ir", *_DEVICE)

DEPENDENCIES = {
    "library": _FRONTEND,
    "runtime": _RUNTIME,
    "programs": _ENGINE,
    "proofs": _ENGINE,
    "modules": _ENGINE,
    "coarse": _ENGINE,
    "machine": ("isa", "device", "profiles", *_FRONTEND),
    "objects": ("engine/llvm", "ir", *_RUNTIME),
    "golden": (
        "golden",
        "compiler/tvm_bridge",
        "memory/spilled.py",
        "results",
        "engine/llvm",
        *_RUNTIME,
        "device",
        "mlops",
        "profiles",
        "findings.py",
    ),
    "models": ("compiler", "golden", "results", "explanations", "backends", "memory", "isa", "timing", *_ENGINE),
    "search": ("compiler/plan/search",),
    "drivers": ("backends/opencl", "frontend/options.py", "memory", *_DEVICE),
}
"""Folders and files of this package, by kind of entry."""

PACKAGE = Path(__file__).parents[1]


@functools.cache
def code_digest(kind: str) -> str:
    """The digest of the code that makes entries of `kind`, as this process found it first."""
    return digest_code(kind, PACKAGE, _known_part)


def digest_code(kind: str, package: Path, digest_part: Callable[[Path], str] | None = None) -> str:
    """The digest of the code that makes entries of `kind` in the package at `package`. AdrenoSimError if a part is missing."""
    parts = [f"{name} {(digest_part or _digest_part)(package / name)}" for name in sorted(DEPENDENCIES[kind])]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _digest_part(part: Path) -> str:
    """The digest of a file, or of the names and contents of all files in a folder. AdrenoSimError if there is none."""
    sum = hashlib.sha256()
    empty = True
    for path in _files_of(str(part)):
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        sum.update(f"{path[len(str(part)) :]}\0{len(content)}\0".encode() + content)
        empty = False
    if empty:
        raise AdrenoSimError(f"{part}: no code there; base/code_digest.py names it")
    return sum.hexdigest()


_known_part = functools.cache(_digest_part)


@functools.cache
def name_with_code(name: str, *files: Path) -> str:
    """A name that changes with the contents of files: what other code has left on disk has another."""
    return f"{name} {hashlib.sha256(''.join(map(_known_part, files)).encode()).hexdigest()[:16]}"


def _files_of(path: str) -> Iterator[str]:
    """The paths of a file, or of all files in a folder but compiled ones, in order."""
    if os.path.isfile(path):
        yield path
    elif os.path.isdir(path):
        yield from _files_in(path)


def _files_in(folder: str) -> Iterator[str]:
    """As `_files_of`. What an entry is, the listing of its folder says: there are hundreds."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            yield from _files_in(entry.path)
        elif entry.is_file():
            yield entry.path
