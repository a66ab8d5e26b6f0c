"""The line of an entry in a TOML text, which Python's TOML reader does not say.

The text is read statement by statement: a statement is the fewest next lines that the reader takes. A path to an entry has the
keys that lead to it, and for each array of tables a position from 0.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EntryPath = tuple["str | int", ...]

MOST = 1 << 19
"""Characters that are read, each as often as its statement is tried: half a second. Behind them, as behind an array of thousands
of lines, no line is known."""


def find_line(text: str, entry: EntryPath) -> int | None:
    """The line, from 1, of an entry, or where it is missing of the table that should have it. None if it is not known, or if that
    is the whole file."""
    lines: dict[EntryPath, int] = {}
    arrays: dict[EntryPath, int] = {}
    table: EntryPath = ()
    for line, statement, data in _read_statements(text):
        if statement.lstrip().startswith("["):
            table = _open_table(data, statement.lstrip().startswith("[["), arrays)
            lines.setdefault(table, line)
        else:
            for path in _list_paths(table, data):
                lines.setdefault(path, line)
    found = (lines.get(entry[:length]) for length in range(len(entry), 0, -1))
    return next((line for line in found if line is not None), None)


def _read_statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yields the first line of each statement, its text, and what it says alone."""
    first, waiting, left = 1, "", MOST
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        waiting = f"{waiting}\n{line}" if waiting else line
        left -= len(waiting) + 1
        if left < 0:
            return
        try:
            data = tomllib.loads(waiting)
        except ValueError:
            continue
        if data:
            yield first, waiting, data
        first, waiting = number + 1, ""


def _open_table(data: Mapping[str, Any], is_array: bool, arrays: dict[EntryPath, int]) -> EntryPath:
    """The path of the table that a header opens. arrays: the position of the last table in each array of tables."""
    path: EntryPath = ()
    keys = list(_list_header(data))
    for number, key in enumerate(keys, start=1):
        path = (*path, key)
        if is_array and number == len(keys):
            arrays[path] = arrays.get(path, -1) + 1
        if path in arrays:
            path = (*path, arrays[path])
    return path


def _list_header(data: Any) -> Iterator[str]:
    """Yields the keys of a header, which opens an empty table."""
    while data:
        data = data[0] if isinstance(data, list) else data
        for key, value in data.items():
            yield key
            data = value


def _list_paths(table: EntryPath, value: Any) -> Iterator[EntryPath]:
    """Yields the paths of the entries in a value, also of inline tables."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        if isinstance(value, dict) or isinstance(part, dict):
            yield (*table, key)
            yield from _list_paths((*table, key), part)
