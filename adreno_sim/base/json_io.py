"""JSON and text written to files that appear complete or not at all."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path
from typing import IO, Any

from .errors import AdrenoSimError


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
    """Write `data` to `path`, as write_bytes does."""
    write_text(path, _text(data))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` in UTF-8 to `path`, as write_bytes does."""
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path`; the file appears complete or not at all. Raises AdrenoSimError where it cannot."""
    target = Path(path)
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise AdrenoSimError(f"cannot write {target}: {error.strerror or error}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise AdrenoSimError(f"cannot write {target}: {error.strerror or error}") from error
