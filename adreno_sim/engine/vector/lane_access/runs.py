"""Accesses whose lanes form several runs: each run one element that its lanes share, or a row. A run is one access.

The runs of a tile of several rows of work-items are also one, if the step between rows of memory is known.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from ....ir import ir, llvm_types
from ...emit import access
from ...emit.pointers import LaneOffsets, LanePtr
from ...llvm import vector_text as vt
from ..emitter import VectorEmitter
from .rows import LaneRows, emit_row_load, emit_row_store
from .words import has_known_end

_LEAST = 4
"""Lanes of the shortest run that is worth a separate access."""


class Runs(NamedTuple):
    """`length` lanes are a run. is_row: they lie side by side; else they share one element. starts: the lane offsets of the first
    lane of each run, in bytes."""

    length: int
    is_row: bool
    starts: tuple[int, ...]


def find_runs(offsets: LaneOffsets, size: int) -> Runs | None:
    """Returns the longest runs, of several, that lanes with elements of `size` bytes form; None if there are none."""
    length = len(offsets) // 2
    while length >= _LEAST:
        starts = offsets[::length]
        for step in (size, 0):
            if all(offset == starts[lane // length] + lane % length * step for lane, offset in enumerate(offsets)):
                return Runs(length, bool(step), starts)
        length //= 2
    return None


def are_stored(runs: Runs, size: int) -> bool:
    """Returns whether a store of each run stores what all lanes store, whose order is that of lanes."""
    ends = sorted(runs.starts)
    return runs.is_row and all(b - a >= runs.length * size for a, b in pairwise(ends))


def emit_load(e: VectorEmitter, where: LanePtr, elem: ir.Type, runs: Runs, mask: str | None, align: int) -> str | None:
    """Emits a load of each run. Returns the vector of all lanes; None if some lane may not access what its run shares."""
    if mask is not None and not runs.is_row:
        return None
    loaded: dict[int, str] = {}
    for start in dict.fromkeys(runs.starts):
        there = access.offset_pointer(e, where.pointer, 1, start)
        if runs.is_row:
            active = [_slice(e, mask, number, runs.length) for number, one in enumerate(runs.starts) if one == start]
            row, lanes, known = LaneRows(runs.length), _union(e, active, runs.length), has_known_end(where)
            loaded[start] = emit_row_load(e, e.address(there), elem, row, lanes, align, has_known_end=known)
        else:
            item = e.body.op(f"load {llvm_types.spell(elem)}, ptr {e.address(there)}, align {align}")
            loaded[start] = vt.splat(e.body, elem, item, runs.length)
    return _joined(e, elem, [loaded[start] for start in runs.starts], runs.length)


def emit_store(e: VectorEmitter, where: LanePtr, elem: ir.Type, part: str, runs: Runs, mask: str | None, align: int) -> None:
    """Emits a store of each run, which `are_stored`."""
    for number, start in enumerate(runs.starts):
        address = e.address(access.offset_pointer(e, where.pointer, 1, start))
        piece = _taken(e, e.lanes.spelled(elem), part, number, runs.length)
        emit_row_store(e, address, elem, LaneRows(runs.length), piece, _slice(e, mask, number, runs.length), align)


def _slice(e: VectorEmitter, mask: str | None, number: int, length: int) -> str | None:
    """Returns the mask of one run."""
    return None if mask is None else _taken(e, f"<{e.count} x i1>", mask, number, length)


def _taken(e: VectorEmitter, spelled: str, vector: str, number: int, length: int) -> str:
    return vt.shuffle(e.body, spelled, vector, range(number * length, (number + 1) * length))


def _union(e: VectorEmitter, masks: list[str | None], length: int) -> str | None:
    found = masks[0]
    for mask in masks[1:]:
        if found is None or mask is None:
            return None
        found = e.body.op(f"or <{length} x i1> {found}, {mask}")
    return found


def _joined(e: VectorEmitter, elem: ir.Type, parts: list[str], length: int) -> str:
    """Returns the runs end to end; their number is a power of two."""
    while len(parts) > 1:
        spelled = llvm_types.spell(ir.Vector(elem, length))  # type: ignore[arg-type]
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [vt.shuffle(e.body, spelled, a, range(2 * length), b) for a, b in pairs]
        length *= 2
    return parts[0]
