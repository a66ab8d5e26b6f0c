"""Paths that a file names, confined to its own folder: links are followed first, so that none leads out."""

from __future__ import annotations

import os
from pathlib import Path


def is_below(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> bool:
    """Whether `path` is the folder or lies below it, links followed. False for a path that no file can have."""
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except (OSError, ValueError):  # a zero byte
        return False


def find_below(name: str | os.PathLike[str], folder: Path) -> Path | None:
    """The path that `name`, relative to `folder`, stands for; None where it does not lie below the folder."""
    path = folder / name
    return path if is_below(path, folder) else None
