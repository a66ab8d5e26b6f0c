"""group-update: a value that a whole work-group updates in place is read once and written once.

In TVM's merge of two attention results all work-items along the head's dimension read the old sum of exponentials from global
memory, and then each writes the new one there, with no barrier between: one that is late reads the new sum as the old. Right only
where work-items run in lockstep. 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tvm_bridge import read
from ...tvm_bridge.versions import import_tvm
from ..base import Fix
from .work_items import StatementContext, loads_of, memories, memory_of, rewrite, scope_of, walk_places

if TYPE_CHECKING:
    from tvm.ir.transform import Pass


def update_once() -> Pass:
    """TIR pass before barriers are placed: one work-item reads such a value into shared memory, and the same one writes it."""

    def transform(func: Any, _mod: Any, _ctx: Any) -> Any:
        walked = list(walk_places(func.body))
        instead: dict[int, Any] = {}
        owners = memories(func)
        for at, (store, place) in enumerate(walked):
            numbers = _who_else_writes(store, place)
            loaders = _loaders(walked, store, owners) if numbers else []
            if (
                loaders
                and max(found for found, _, _ in loaders) < at
                and all(_agree(item, store, place, owners) for item in loaders)
            ):
                instead.update(_update_by_one(store, place, numbers, [item[1] for item in loaders], owners))
        return rewrite(func, instead, ("BufferStore",))

    return import_tvm().tirx.transform.prim_func_pass(transform, opt_level=0, name="adreno_sim.UpdateOnce")


def _who_else_writes(store: Any, place: StatementContext) -> list[Any]:
    """Numbers of work-items on which the element that a store to global memory writes does not depend; [] of other statements,
    and where not all of a group arrive together, once."""
    if read.kind(store) != "BufferStore" or scope_of(store) != "global" or not place.uniform or place.looped:
        return []
    if place.conditions or any(True for _ in place.loads_in(store.indices[0])):
        return []
    used = place.numbers_in(store.indices[0])
    return [var for key, (var, count) in place.items.items() if count > 1 and key not in used]


def _loaders(
    walked: list[tuple[Any, StatementContext]], store: Any, owners: dict[int, int]
) -> list[tuple[int, Any, StatementContext]]:
    """(position, statement, place) of each statement that itself reads the buffer of a store."""
    memory = memory_of(store, owners)
    return [(at, statement, place) for at, (statement, place) in enumerate(walked) if _reads(statement, memory, owners)]


def _reads(statement: Any, memory: int, owners: dict[int, int]) -> list[Any]:
    """The loads from a memory that a statement evaluates itself, not in the statements under it."""
    fields = (getattr(statement, field, None) for field in ("value", "condition", "min", "extent"))
    parts = [part for part in (*fields, *getattr(statement, "indices", ())) if part is not None]
    return [load for part in parts for load in loads_of(part, memory, owners)]


def _agree(loader: tuple[int, Any, StatementContext], store: Any, at: StatementContext, owners: dict[int, int]) -> bool:
    """Whether a statement is a store that reads the very element that `store` writes, where all of the group are."""
    import tvm_ffi

    _, statement, place = loader
    loads = _reads(statement, memory_of(store, owners), owners)
    return (
        read.kind(statement) == "BufferStore"
        and place.uniform and not place.looped and not place.conditions and place.items == at.items
        and all(tvm_ffi.structural_equal(load.indices[0], store.indices[0]) for load in loads)
    )  # fmt: skip


def _update_by_one(
    store: Any, place: StatementContext, numbers: list[Any], loaders: list[Any], owners: dict[int, int]
) -> dict[int, Any]:
    import tvm_ffi

    tirx = import_tvm().tirx
    mine = {read.key(var) for var in numbers}
    slot, size = tirx.const(0, "int32"), 1
    for key, (var, count) in place.items.items():
        if key not in mine:
            slot, size = slot * count + tirx.Cast("int32", var), size * count
    before = tirx.decl_buffer((size,), read.dtype_of(store.value), "before", scope="shared")
    first = tirx.all(*(var == tirx.const(0, read.dtype_of(var)) for var in numbers))
    fill = tirx.BufferStore(before, tirx.BufferLoad(store.buffer, store.indices), [slot])

    def shared(load: Any) -> Any:
        return tirx.BufferLoad(before, [slot]) if memory_of(load, owners) == memory_of(store, owners) else load

    instead = {}
    for at, statement in enumerate(loaders):
        reading = tvm_ffi.structural_map(statement, (type(fill.value), shared), order="post")
        ahead = [] if at else [tirx.AllocBuffer(before), tirx.IfThenElse(first, fill, None)]
        instead[read.key(statement)] = tirx.SeqStmt([*ahead, reading]) if ahead else reading
    instead[read.key(store)] = tirx.IfThenElse(first, store, None)
    return instead


FIX = Fix(
    name="group-update",
    versions=("0.27",),
    summary="a value that a work-group updates in place is read and written by one work-item, and shared",
    tir=("tirx.CommonSubexprElim", update_once),
)
