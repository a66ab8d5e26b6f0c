"""Problems as files: MiniMalloc's CSV of lifetimes and sizes, and JSON that also keeps shapes, scopes and alignments."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...base.bounded_read import DATA_LIMIT, explain_unreadable, parse_json, read_text
from ...base.errors import AdrenoSimError
from ...base.json_io import write_json
from ...base.output_file import write_text
from ..artifact.serial import SchemaError, decode, encode
from .problem import Item, Problem

SCHEMA = "adreno-sim/trace/1"

_COLUMNS = {"id": "id", "buffer": "id", "lower": "start", "start": "start", "upper": "end", "end": "end", "size": "size"}
_OPTIONAL = {"alignment": "alignment", "offset": ""}  # offset: an earlier solution, which a problem does not have


def read(path: str | Path) -> Problem:
    """The problem in a .csv or .json file, named after it. Raises AdrenoSimError with the file, the line and what is wrong."""
    path = Path(path)
    readers = {".csv": _read_csv, ".json": _read_json}
    if path.suffix.lower() not in readers:
        raise AdrenoSimError(f"trace {path}: expected a file ending in .csv or .json")
    try:
        items = readers[path.suffix.lower()](read_text(path, DATA_LIMIT), str(path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise AdrenoSimError(f"trace {path}: cannot be read: {explain_unreadable(error)}") from None
    try:
        return Problem(tuple(items), path.stem)
    except AdrenoSimError as error:
        raise AdrenoSimError(f"trace {path}: {error}") from None


def write_csv(path: str | Path, problem: Problem) -> None:
    """Lifetimes and sizes alone, as MiniMalloc reads them: id,lower,upper,size with [lower, upper)."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(("id", "lower", "upper", "size"))
    out.writerows((item.id, item.start, item.end, item.size) for item in problem.items)
    write_text(path, text.getvalue())


def write(path: str | Path, problem: Problem) -> None:
    """Everything about the items, as JSON."""
    write_json(path, {"schema": SCHEMA, "name": problem.name, "items": encode(problem.items)})


def _read_csv(text: str, where: str) -> list[Item]:
    lines = csv.reader(io.StringIO(text, newline=""))
    fields = _fields(next(lines, []), where)
    return [_row(fields, row, f"{where}:{lines.line_num}") for row in lines if row]


def _fields(header: list[str], where: str) -> list[str]:
    names = [name.strip().lower() for name in header]
    known = _COLUMNS | _OPTIONAL
    if unknown := [name for name in names if name not in known]:
        raise AdrenoSimError(f"trace {where}:1: unknown column {unknown[0]!r}: expected id,lower,upper,size")
    fields = [known[name] for name in names]
    if len(set(fields)) < len(fields):
        raise AdrenoSimError(f"trace {where}:1: two columns mean the same: expected id,lower,upper,size")
    if missing := {"id", "start", "end", "size"} - set(fields):
        raise AdrenoSimError(f"trace {where}:1: no column for {min(missing)}: expected id,lower,upper,size")
    return fields


def _row(fields: list[str], row: list[str], where: str) -> Item:
    if len(row) != len(fields):
        raise AdrenoSimError(f"trace {where}: {len(row)} values: expected {len(fields)}")
    values: dict[str, Any] = {field: value.strip() for field, value in zip(fields, row, strict=True) if field}
    try:
        key = values.pop("id")
        numbers: dict[str, Any] = {field: int(value) for field, value in values.items()}
        return Item(key, **numbers)
    except ValueError as error:
        raise AdrenoSimError(f"trace {where}: expected integers: {error}") from None
    except AdrenoSimError as error:
        raise AdrenoSimError(f"trace {where}: {error}") from None


def _read_json(text: str, where: str) -> list[Item]:
    try:
        data = parse_json(text)
    except ValueError as error:
        raise AdrenoSimError(f"trace {where}: not valid JSON: {error}") from None
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
        raise AdrenoSimError(f"trace {where}: expected an object with schema {SCHEMA!r}")
    try:
        return list(decode(tuple[Item, ...], data.get("items")))
    except SchemaError as error:
        raise AdrenoSimError(f"trace {where}: {error}") from None
    except AdrenoSimError as error:
        raise AdrenoSimError(f"trace {where}: {error}") from None
