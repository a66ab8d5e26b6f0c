r"""JSON as it is printed and written; files appear complete or not at all (`output_file.py`).

Characters that are not printable are JSON's escapes, so that nothing is lost and nothing happens where they are printed.
Bytes that are not UTF-8, which JSON cannot hold, are spelled `\xe9` (`text/spelling.py`).
"""

from __future__ import annotations

import json
import math
import os
from typing import IO, Any

from .output_file import write_text
from .text import spelling


def plain_json(value: Any) -> Any:
    """`value` with tuples as lists, numpy scalars as numbers, and non-finite floats as strings."""
    if isinstance(value, dict):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def print_json(data: dict[str, Any], file: IO[str]) -> None:
    """Print `data` as write_json writes it."""
    file.write(dump_json(data, indent=1) + "\n")


def dump_json(data: Any, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """Returns `data` as the text of JSON. ValueError if a float is not finite."""
    text = json.dumps(data, indent=indent, separators=separators, allow_nan=False, ensure_ascii=False)
    text = spelling.ANYWHERE_COMMAND.sub(r"\1\\u005b", text)  # it may be printed
    if text.replace("\n", "").isprintable():
        return text
    return "\n".join(line if line.isprintable() else "".join(map(_escape, line)) for line in text.split("\n"))


def _escape(char: str) -> str:
    """A character of JSON's text."""
    if char.isprintable():
        return char
    return json.dumps(char)[1:-1] if not "\ud800" <= char <= "\udfff" else json.dumps(spelling.spell_char(char))[1:-1]


def write_json(path: str | os.PathLike[str], data: dict[str, Any] | list[Any]) -> None:
    """Write `data` to `path`, as open_output does."""
    write_text(path, dump_json(data, indent=1) + "\n")
