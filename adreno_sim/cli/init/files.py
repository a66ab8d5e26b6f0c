"""The files that `init` writes: new ones, unless the user chooses otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...base.errors import AdrenoSimError
from ...base.output_file import find_obstacle, write_text
from ...base.text.spelling import encode


def require_new(files: Mapping[Path, str], force: bool) -> None:
    """Raise AdrenoSimError if one of the files cannot be written, or exists, holds another text, and force is not given."""
    for path, text in files.items():
        parent = next(folder for folder in path.absolute().parents if folder.exists())
        if path.parent.is_dir() and (reason := find_obstacle(path)):
            raise AdrenoSimError(f"cannot write {path}: {reason}")
        if not path.parent.is_dir() and (reason := find_obstacle(parent / "a")):
            raise AdrenoSimError(f"cannot write {path}: {reason}")
        if path.exists() and not force and not _holds(path, text):
            raise AdrenoSimError(f"{path}: exists; --force writes over it, -o FILE writes another")


def write_files(files: Mapping[Path, str]) -> None:
    """Write the files, with the folders that they need."""
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)


def _holds(path: Path, text: str) -> bool:
    try:
        return bool(text) and path.read_bytes() == encode(text)
    except OSError:
        return False
