"""JSON as it is printed and written; files appear complete or not at all (`output_file.py`)."""

from __future__ import annotations

import json
import math
import os
from typing import IO, Any

from .output_file import write_text


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
    file.write(_text(data))


def _text(data: Any) -> str:
    return json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def write_json(path: str | os.PathLike[str], data: dict[str, Any] | list[Any]) -> None:
    """Write `data` to `path`, as open_output does."""
    write_text(path, _text(data))
