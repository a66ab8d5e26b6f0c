"""neighbour-read: a work-item that adds its neighbour's value to its own reads it before the neighbour writes.

TVM's scan over a work-group says `shared[a] += shared[b]`, where b is another work-item's slot. TVM puts barriers between
statements and none into one: the neighbour may have written its slot already. Right only where work-items run in lockstep.
Cumulated sums, and the sampling that is made of them. 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...tvm_bridge import read
from ...tvm_bridge.versions import import_tvm
from ..base import Fix
from .work_items import StatementContext, evaluate, loads_of, memories, memory_of, rewrite, scope_of, walk_places

if TYPE_CHECKING:
    from tvm.ir.transform import Pass


def read_before_neighbours_write() -> Pass:
    """TIR pass before barriers are placed: a store that reads what another work-item writes in the same statement becomes two
    statements, so that a barrier comes between."""

    def transform(func: Any, _mod: Any, _ctx: Any) -> Any:
        instead, owners = {}, memories(func)
        for statement, place in walk_places(func.body):
            condition, store = _split(statement)
            if store is not None and place.uniform and reads_of_others(store, condition, place, owners):
                instead[read.key(statement)] = _in_two(store, condition)
        return rewrite(func, instead, ("IfThenElse", "BufferStore"))

    return import_tvm().tirx.transform.prim_func_pass(transform, opt_level=0, name="adreno_sim.ReadBeforeNeighboursWrite")


def _split(statement: Any) -> tuple[Any, Any]:
    """(condition or None, the one store under it or None)."""
    condition = None
    if read.kind(statement) == "IfThenElse" and statement.else_case is None:
        condition, statement = statement.condition, statement.then_case
    return condition, statement if read.kind(statement) == "BufferStore" else None


def reads_of_others(store: Any, condition: Any, place: StatementContext, owners: dict[int, int]) -> bool:
    """Whether a store to shared memory reads an element that another work-item of the group writes by it."""
    if scope_of(store) != "shared":
        return False
    loads = [load for load in loads_of(store.value, memory_of(store, owners), owners) if _alike(load, store)]
    conditions = [] if condition is None else [condition]
    found = evaluate([store.indices[0], *(load.indices[0] for load in loads), *conditions], place)
    if found is None or not loads:
        return False
    written, *reads = found[: len(found) - len(conditions)]
    active = np.broadcast_to(found[-1] if conditions else True, (*written.shape[:2], 1))[..., 0]
    return any(_meet(written[step], got[step], active[step]) for step in range(len(written)) for got in reads)


def _alike(load: Any, store: Any) -> bool:
    """Whether both count the same elements."""
    return read.buffer_info(read.loaded_buffer(load)).dtype == read.buffer_info(store.buffer).dtype


def _meet(written: np.ndarray, got: np.ndarray, active: np.ndarray) -> bool:
    """Whether an active work-item reads what another one writes. written, got: (work-items, lanes); active: (work-items,)."""
    writers: dict[int, set[int]] = {}
    for item in np.flatnonzero(active):
        for index in written[item]:
            writers.setdefault(int(index), set()).add(int(item))
    return any(writers.get(int(index), set()) - {int(item)} for item in np.flatnonzero(active) for index in got[item])


def _in_two(store: Any, condition: Any) -> Any:
    tirx = import_tvm().tirx
    scalar, lanes = read.scalar_dtype(read.dtype_of(store.value), "a store")
    kept = tirx.decl_buffer((lanes,), scalar, "kept", scope="local")
    all_of_it = [tirx.Ramp(0, 1, lanes) if lanes > 1 else 0]
    parts = [
        tirx.BufferStore(kept, store.value, all_of_it),
        tirx.BufferStore(store.buffer, tirx.BufferLoad(kept, all_of_it), store.indices),
    ]
    if condition is not None:
        parts = [tirx.IfThenElse(condition, part, None) for part in parts]
    return tirx.SeqStmt([tirx.AllocBuffer(kept), *parts])


FIX = Fix(
    name="neighbour-read",
    versions=("0.27",),
    summary="scans over a work-group read a neighbour's value before the neighbour writes it",
    tir=("tirx.CommonSubexprElim", read_before_neighbours_write),
)
