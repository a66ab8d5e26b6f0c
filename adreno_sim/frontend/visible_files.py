"""The files that a program may read: regular files below the include folders that the call names, and this project's headers.

clang sees nothing else. It works on a virtual file system that an overlay file describes, "redirect-only": a path that the
overlay does not hold does not exist, for `#include`, `#embed` and `__has_include` alike, whatever macros make of its name.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from ..base.errors import BuildError
from ..records import dataclass

HEADERS = Path(__file__).parent / "include"
_OWN = os.path.realpath(Path(__file__).parent)
"""The folder of this project's C files. An installer may have made links of them, which lead to where it keeps packages."""
MOST_ENTRIES = 200_000
"""Files and folders below the include folders: listing them takes about a second."""

_LEADS_OUT = "a link that leads out of the include folders (--unsafe-includes, or the option unsafe_includes, follows it)"
_UNREADABLE = "a link that this user may not read"
_SPECIAL = "no regular file (a pipe, a device, a socket, or a link to nothing)"
_NAME = "a name that is not UTF-8"

_Entry = dict[str, Any]


@dataclass(frozen=True)
class VisibleFiles:
    """What clang may read. overlay: the text of its overlay file. folders: as the call names them. left_out: what is below them
    and is not visible, by path, with the reason."""

    overlay: bytes
    folders: tuple[str, ...]
    left_out: dict[str, str]

    def explain_missing(self, name: str) -> str:
        """Returns the line that says why the file `name` is not found, and what to do."""
        parts = name.split("/")
        for path, reason in self.left_out.items():
            if os.path.basename(path) in parts:
                return f"{path} is left out: {reason}"
        below = f"below {', '.join(self.folders)}" if self.folders else "below folders that are named, and none is"
        return (
            f"files are read only {below}: name a folder with the build option -I, or read any file with --unsafe-includes "
            "(option unsafe_includes)"
        )


def find_visible_files(folders: Sequence[str]) -> VisibleFiles:
    """Returns the files below `folders` (relative ones start at the working folder; one that is missing holds none).

    A link is followed where it leads to what is visible. Raises BuildError for more than MOST_ENTRIES files, and for
    folders hundreds deep.
    """
    try:
        return _Listing(folders).finish()
    except RecursionError:
        raise BuildError(f"include folders {', '.join(folders)}: folders nested too deeply: name others with -I") from None


def is_visible(file: str, folders: Sequence[str]) -> bool:
    """Returns True for a regular file below `folders`, links resolved: a source may name any file in a line directive."""
    real = _resolve(file)
    return os.path.isfile(real) and any(_is_below(real, root) for root in map(_resolve, folders) if root)


@dataclass
class _Listing:
    folders: Sequence[str]
    count: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    _real: list[str] = field(default_factory=list)

    def finish(self) -> VisibleFiles:
        named = {os.path.abspath(folder): _resolve(folder) for folder in (*self.folders, str(HEADERS))}
        self._real = [real for real in dict.fromkeys(named.values()) if os.path.isdir(real)]
        roots: dict[str, str] = {}
        for name, real in [*named.items(), *((real, real) for real in self._real)]:
            if real in self._real and _is_utf8(name):
                roots[name] = real
        # A root inside another one is part of its listing.
        outer = {
            name: real for name, real in roots.items() if not any(_is_below(name, other) for other in roots if other != name)
        }
        listed = {real: self._list(real, (real,)) for real in dict.fromkeys(outer.values())}
        entries = [{**_as_folder(real, listed[real]), "name": name} for name, real in outer.items()]
        overlay = {"version": 0, "case-sensitive": "true", "redirecting-with": "redirect-only", "roots": entries}
        return VisibleFiles(json.dumps(overlay, ensure_ascii=False).encode(), tuple(self.folders), self.left_out)

    def _list(self, folder: str, inside: tuple[str, ...]) -> list[_Entry] | None:
        """Returns the overlay's entries of a real folder; None if all of it is visible, so that it needs no list."""
        try:
            with os.scandir(folder) as found:
                items = list(found)
        except OSError:
            return []
        self.count += len(items)
        if self.count > MOST_ENTRIES:
            raise BuildError(
                f"include folder {inside[0]}: expected at most {MOST_ENTRIES} files below the include folders of a program, got "
                "more: name smaller folders with -I, or use --unsafe-includes (option unsafe_includes)"
            )
        entries: list[_Entry] = []
        whole = True
        for item in items:
            entry, plain = self._entry(item, inside)
            whole = whole and plain
            if entry is not None:
                entries.append(entry)
        return None if whole else entries

    def _entry(self, item: os.DirEntry[str], inside: tuple[str, ...]) -> tuple[_Entry | None, bool]:
        """Returns the entry of a file or folder, None if it is not visible; and whether it is visible as it is there."""
        real, reason = item.path, ""
        if not _is_utf8(item.name):
            reason = _NAME
        elif item.is_symlink():
            real = _resolve(item.path)
            if not real:
                reason = _UNREADABLE
            elif not any(_is_below(real, root) for root in self._real) and not _is_below(item.path, _OWN):
                reason = _LEADS_OUT
        if not reason and _is(item.is_dir):
            if real in inside:  # a link to a folder that it is in
                return None, False
            listed = self._list(real, (*inside, real))
            return {**_as_folder(real, listed), "name": item.name}, real == item.path and listed is None
        if not reason and not _is(item.is_file):
            reason = _SPECIAL
        if reason:
            self.left_out[item.path] = reason
            return None, False
        return {"type": "file", "name": item.name, "external-contents": real}, real == item.path


def _as_folder(real: str, listed: list[_Entry] | None) -> _Entry:
    if listed is None:
        return {"type": "directory-remap", "external-contents": real}
    return {"type": "directory", "contents": listed}


def _resolve(path: str) -> str:
    """Returns the real path; "" if a link on the way may not be read, as those of other users' processes in /proc."""
    try:
        return os.path.realpath(path, strict=True)  # from Python 3.13 on, what is not strict keeps such a link as it is
    except OSError as error:
        return os.path.realpath(path) if error.errno in (errno.ENOENT, errno.ELOOP) else ""


def _is(test: Callable[[], bool]) -> bool:
    try:
        return test()
    except OSError:  # a ring of links
        return False


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
