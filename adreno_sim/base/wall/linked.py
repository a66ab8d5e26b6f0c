"""Where the files of installed packages are if their folders hold links to them, as `uv pip install --link-mode symlink` makes
them, and builds that assemble an environment from a store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_LOOKED_AT = ("adreno_sim", "numpy", "numba", "llvmlite", "rich", "ziglang", "tvm", "onnx", "onnxruntime")
"""Packages by which a folder shows that it has links: to search each folder of modules would delay every start."""


def find_linked(folders: Iterable[str]) -> Iterator[Path]:
    """Files and folders outside these folders of modules that hold what links in them lead to.

    A package whose files are links into a folder of the same names is that whole folder; another link is its target alone. A
    folder with a file of its own beside no link is an ordinary package, and is not searched further.
    """
    for folder in folders:
        if _has_links(folder):
            yield from sorted(set(_find_targets(folder, "")))


def _has_links(folder: str) -> bool:
    return any(os.path.islink(os.path.join(folder, file)) for name in _LOOKED_AT for file in (name, f"{name}/__init__.py"))


def _find_targets(folder: str, inside: str) -> Iterator[Path]:
    """Targets of the links in a folder. inside: its path from the folder of modules; "" for that folder."""
    try:
        with os.scandir(folder) as listed:
            entries = list(listed)
    except OSError:
        return
    links = [entry for entry in entries if entry.is_symlink()]
    for link in links:
        target, name = os.path.realpath(link.path), os.path.join(inside, link.name)
        mirrored = inside and target.endswith(f"{os.sep}{name}")
        yield Path(os.path.dirname(target) if mirrored else target)
    if inside and (links or any(entry.is_file(follow_symlinks=False) for entry in entries)):
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
            yield from _find_targets(entry.path, os.path.join(inside, entry.name))
