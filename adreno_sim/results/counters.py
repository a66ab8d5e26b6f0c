"""Counters of a kernel: what follows from them, and their JSON, `adreno-sim/counters/1`.

Figures are exact where they follow from the program and its NDRange alone. Those of a model rest on how a device forms waves,
cache lines and banks of local memory.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..device.counters import LaunchCounters, MemoryCounters, PlaceCounters
from ..engine.abi.counting import BANK_BYTES, BANKS

FLOATS = ("float64", "float32", "float16", "special")
"""Operations on floating-point numbers."""
ARITHMETIC = (*FLOATS, "int64", "int32", "int16", "int8")


def count_operations(counters: LaunchCounters, types: tuple[str, ...] = ARITHMETIC) -> int:
    """Returns the operations of these types, added over work-items."""
    return sum(counters.operations.get(type, 0) for type in types)


def per_byte(operations: int, counters: LaunchCounters) -> float | None:
    """Returns the arithmetic intensity: operations for each distinct byte of buffers and images; None if there is none."""
    traffic = counters.unique_read_bytes + counters.unique_written_bytes
    return operations / traffic if traffic else None


def reuse_of(row: MemoryCounters) -> float | None:
    """Returns how often each distinct byte is accessed; None if distinct bytes are not known."""
    return (row.read_bytes + row.written_bytes) / row.unique_bytes if row.unique_bytes else None


def list_shared(counters: LaunchCounters) -> list[MemoryCounters]:
    """Returns the rows of buffers and images."""
    return [row for row in counters.memory if row.kind in ("buffer", "image")]


def list_wasteful(counters: LaunchCounters) -> list[PlaceCounters]:
    """Returns the places with more transactions than the least, and divergent branches, the most wasteful first."""
    found = [place for place in counters.places if place.transactions > place.least]
    return sorted(found, key=lambda place: place.least - place.transactions)


def is_texture(row: MemoryCounters) -> bool:
    """Returns whether traced waves read texels of it."""
    return row.kind == "image" and row.wave_reads > 0


def find_local(counters: LaunchCounters) -> MemoryCounters | None:
    """Returns the row of local memory; None if the kernel accesses none."""
    return next((row for row in counters.memory if row.kind == "local"), None)


def counters_to_json(counters: LaunchCounters | None) -> dict[str, Any] | None:
    """Returns JSON-ready data; None if nothing was counted."""
    if counters is None:
        return None
    return {"launches": counters.launches, "exact": _exact_figures(counters), "model": _model_figures(counters)}


def _exact_figures(counters: LaunchCounters) -> dict[str, Any]:
    shared = list_shared(counters)
    return {
        "work_items": counters.work_items,
        "groups": counters.groups,
        "operations": counters.operations,
        "branches": counters.branches,
        "barriers": counters.barriers,
        "memory": [
            {
                "name": row.name,
                "kind": row.kind,
                "reads": row.reads,
                "writes": row.writes,
                "read_bytes": row.read_bytes,
                "written_bytes": row.written_bytes,
                "unique_read_bytes": row.unique_read_bytes,
                "unique_written_bytes": row.unique_written_bytes,
                "unique_bytes": row.unique_bytes,
                "texel_bytes": row.texel_bytes,
                "reuse": reuse_of(row),
            }
            for row in counters.memory
        ],
        "read_bytes": sum(row.read_bytes for row in shared),
        "written_bytes": sum(row.written_bytes for row in shared),
        "unique_read_bytes": counters.unique_read_bytes,
        "unique_written_bytes": counters.unique_written_bytes,
        "unique_bytes": counters.unique_bytes,
        "operations_per_byte": per_byte(count_operations(counters), counters),
        "float_operations_per_byte": per_byte(count_operations(counters, FLOATS), counters),
    }


def _model_figures(counters: LaunchCounters) -> dict[str, Any]:
    local = find_local(counters)
    return {
        "wave_size": counters.wave_size,
        "line_bytes": counters.line_bytes,
        "banks": BANKS,
        "bank_bytes": BANK_BYTES,
        "traced_groups": counters.traced_groups,
        "traced_waves": counters.traced_waves,
        "memory": [
            {
                "name": row.name,
                "kind": row.kind,
                "traced": row.traced,
                "wave_accesses": row.wave_accesses,
                "transactions": row.transactions,
                "least": row.least,
            }
            for row in list_shared(counters)
        ],
        "textures": [
            {"name": row.name, "texels": row.wave_reads, "lines": row.wave_lines} for row in counters.memory if is_texture(row)
        ],
        "local": None
        if local is None
        else {"traced": local.traced, "wave_accesses": local.wave_accesses, "passes": local.transactions, "least": local.least},
        "places": [asdict(place) for place in counters.places],
        "branches": {
            "traced": counters.traced_branches,
            "wave_branches": counters.wave_branches,
            "divergent": counters.divergent,
        },
    }
