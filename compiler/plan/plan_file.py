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
from ..artifact.memory_plan import MemoryPlan, PlannedTensor
from ..artifact.serial import SchemaError, decode, encode
from .problem import MAX_BYTES

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
    """The JSON object in a file. Raises AdrenoSimError where there is none."""
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
    """Whether a file is no JSON of ours, but a module that `tvm.ir.save_json` wrote."""
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
    if problem := _inconsistency(plan):
        raise AdrenoSimError(f"{where}: {problem}")
    return plan


def _inconsistency(plan: MemoryPlan) -> str:
    """What is wrong with a plan as data, in words; "" if nothing."""
    storages = {storage.id: storage for storage in plan.storages}
    if len(storages) != len(plan.storages):
        return "two storages have the same id"
    for storage in plan.storages:
        if not 0 <= storage.planned_bytes <= MAX_BYTES:
            return f"storage {storage.id!r}: size {storage.planned_bytes}: expected 0 to 2^63 - 1 bytes"
    seen: set[str] = set()
    for tensor in plan.tensors:
        if tensor.id in seen:
            return f"tensor {tensor.id!r} has two lifetimes: expected one"
        seen.add(tensor.id)
        if tensor.storage not in storages:
            return f"tensor {tensor.id!r}: storage {tensor.storage!r} does not exist"
        if wrong := _wrong_numbers(tensor):
            return f"tensor {tensor.id!r}: {wrong}"
    return ""


def _wrong_numbers(tensor: PlannedTensor) -> str:
    if tensor.last < tensor.first:
        return f"lifetime {tensor.first} to {tensor.last}: expected an end after the start"
    for name, nbytes in (("size", tensor.right_bytes), ("dense size", tensor.dense_bytes), ("offset", tensor.offset)):
        if not 0 <= nbytes <= MAX_BYTES:
            return f"{name} {nbytes}: expected 0 to 2^63 - 1 bytes"
    return f"shape {list(tensor.shape)}: expected sizes of 0 or more" if any(dim < 0 for dim in tensor.shape) else ""
