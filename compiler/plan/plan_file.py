"""Memory plans as files: JSON of schema adreno-sim/plan/1."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...base.bounded_read import read_json
from ...base.errors import AdrenoSimError
from ...base.output_file import write_text
from ..artifact.memory_plan import MemoryPlan
from ..artifact.plan_check import find_inconsistency
from ..artifact.serial import SchemaError, decode, encode

SCHEMA = "adreno-sim/plan/1"


def plan_to_json(plan: MemoryPlan) -> dict[str, Any]:
    """The plan as JSON-ready data; fields at their defaults are left out."""
    return {"schema": SCHEMA, **encode(plan)}


def write_plan(path: str | os.PathLike[str], plan: MemoryPlan) -> None:
    """Write `plan`, a line for each tensor; the file appears complete or not at all."""
    lines = ",\n".join(f"{json.dumps(key)}: {_lines(value)}" for key, value in plan_to_json(plan).items())
    write_text(path, "{\n" + lines + "\n}\n")


def _lines(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n]"
    return json.dumps(value, ensure_ascii=False)


def read_plan(path: str | os.PathLike[str]) -> MemoryPlan:
    """The plan in a file. Raises AdrenoSimError with the file and what is wrong in it."""
    return plan_from_json(read_object(path), str(path))


def read_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object in a file. Raises AdrenoSimError if there is none."""
    try:
        data = read_json(Path(path))
    except OSError as error:
        raise AdrenoSimError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise AdrenoSimError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise AdrenoSimError(f"{path}: expected a JSON object, found {type(data).__name__}")
    return data


def is_saved_module(path: str | os.PathLike[str]) -> bool:
    """Whether a file is not JSON of ours, but a module that `tvm.ir.save_json` wrote."""
    try:
        data = read_object(path)
    except AdrenoSimError:
        return False
    return data.keys() >= {"root_index", "nodes"}


def plan_from_json(data: Mapping[str, Any], where: str) -> MemoryPlan:
    """The plan that JSON data hold, checked as a whole; `where` goes before what is wrong."""
    if data.get("schema") != SCHEMA:
        raise AdrenoSimError(f"{where}: expected schema {SCHEMA!r}, found {data.get('schema')!r}")
    try:
        plan = decode(MemoryPlan, {key: value for key, value in data.items() if key != "schema"})
    except SchemaError as error:
        raise AdrenoSimError(f"{where}: not a plan: {error}") from None
    if problem := find_inconsistency(plan):
        raise AdrenoSimError(f"{where}: {problem}")
    return plan
