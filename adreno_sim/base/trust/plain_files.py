"""Folders of files that may be somebody else's, and that a command reads and goes on writing: none of them leads elsewhere."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from ..errors import AdrenoSimError


def require_plain_files(files: Iterable[Path]) -> None:
    """Raise AdrenoSimError for one that exists and is not a regular file: through a link another would be read or written."""
    for file in files:
        try:
            mode = os.lstat(file).st_mode
        except OSError:  # there is none, or whoever opens it says what is wrong
            continue
        if not stat.S_ISREG(mode):
            found = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
            raise AdrenoSimError(f"{file} is {found}: expected a file of this folder's own; give another folder")
