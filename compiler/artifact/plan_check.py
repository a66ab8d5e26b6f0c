"""Consistency of a memory plan that comes in a file: names, lifetimes, sizes and element types."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...base.specs import ELEMENT_TYPES
from .memory_plan import FixedTensor, MemoryPlan, PlannedTensor

MAX_BYTES = 2**63 - 1
"""The largest size of anything: what a signed 64-bit size holds."""

MAX_TIME = 2**62
"""The latest time: differences of two still fit 64 bits."""


def find_inconsistency(plan: MemoryPlan) -> str:
    """What is wrong with a plan as data, in words; "" if nothing."""
    storages = {storage.id: storage for storage in plan.storages}
    if len(storages) != len(plan.storages):
        return "two storages have the same id"
    for storage in plan.storages:
        for nbytes in (storage.planned_bytes, storage.needed_bytes):
            if not 0 <= nbytes <= MAX_BYTES:
                return f"storage {storage.id!r}: size {nbytes}: expected 0 to 2^63 - 1 bytes"
        if wrong := _wrong_times(storage.first, storage.last):
            return f"storage {storage.id!r}: {wrong}"
    seen: set[str] = set()
    for tensor in plan.tensors:
        if tensor.id in seen:
            return f"tensor {tensor.id!r} has two lifetimes: expected one"
        seen.add(tensor.id)
        if tensor.storage not in storages:
            return f"tensor {tensor.id!r}: storage {tensor.storage!r} does not exist"
        if wrong := _wrong_numbers(tensor) or find_wrong_type(tensor.shape, tensor.dtype):
            return f"tensor {tensor.id!r}: {wrong}"
    if len(plan.on_chip) > 1:
        return "two storages are on-chip memory: there is one"
    for first, last in plan.recordings:
        if wrong := _wrong_times(first, last):
            return f"recording: {wrong}"
    for fixed in plan.fixed:
        if wrong := _wrong_fixed(fixed):
            return f"{fixed.kind} {fixed.name!r}: {wrong}"
    for workspace in plan.workspaces:
        if not 0 <= workspace.nbytes <= MAX_BYTES:
            return f"workspace {workspace.id!r}: size {workspace.nbytes}: expected 0 to 2^63 - 1 bytes"
        if wrong := _wrong_times(workspace.instruction):
            return f"workspace {workspace.id!r}: {wrong}"
    return ""


def find_wrong_type(shape: Sequence[int | str], dtype: str) -> str:
    """Why there is no tensor of this shape and element type, "" if there is one. Names in a shape are sizes not known yet."""
    if dtype not in ELEMENT_TYPES:
        return f"unknown dtype {dtype!r}: expected one of {', '.join(sorted(ELEMENT_TYPES))}"
    sizes = [size for size in shape if isinstance(size, int)]
    if any(size < 0 for size in sizes):
        return f"shape {list(shape)}: expected sizes of 0 or more"
    if math.prod(sizes) * np.dtype(dtype).itemsize > MAX_BYTES:
        return f"shape {list(shape)} of {dtype}: expected at most 2^63 - 1 bytes"
    return ""


def _wrong_times(first: int, last: int | None = None) -> str:
    last = first if last is None else last
    if last < first:
        return f"lifetime {first} to {last}: expected an end after the start"
    return "" if max(abs(first), abs(last)) <= MAX_TIME else "lifetime beyond 2^62"


def _wrong_numbers(tensor: PlannedTensor) -> str:
    if wrong := _wrong_times(tensor.first, tensor.last):
        return wrong
    sizes = [("size", tensor.right_bytes), ("dense size", tensor.dense_bytes), ("offset", tensor.offset)]
    for name, nbytes in (*sizes, *(("symbolic size", nbytes) for nbytes in tensor.symbolic)):
        if not 0 <= nbytes <= MAX_BYTES:
            return f"{name} {nbytes}: expected 0 to 2^63 - 1 bytes"
    if len(tensor.call) not in (0, 2):
        return f"call {list(tensor.call)}: expected the first and the last instruction"
    return ""


def _wrong_fixed(fixed: FixedTensor) -> str:
    if not 0 <= fixed.nbytes <= MAX_BYTES:
        return f"size {fixed.nbytes}: expected 0 to 2^63 - 1 bytes"
    return find_wrong_type(fixed.shape, fixed.dtype)
