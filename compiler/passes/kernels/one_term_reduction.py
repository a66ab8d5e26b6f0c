"""one-term-reduction: a reduction of one term is not a reduction for TVM's schedule rules, so that what follows it runs once.

A block over a reduction axis of extent 1 (a 1x1 convolution of one channel, a matrix product with K = 1) first sets its result,
then adds the one term. TVM's rules see no loop to reduce and take the block for an elementwise one: they write what follows it (a
bias, an activation) into both of its statements, so that it is applied twice. Here such a block becomes an elementwise one, which
computes its term at once. 0.25 to 0.27.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...tvm_bridge import read
from ...tvm_bridge.rewrite import map_nodes
from ...tvm_bridge.versions import import_tvm
from ..base import ALL_VERSIONS, Fix, after_last

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

SPATIAL, REDUCED = 0, 2
"""Types of a block's axes (`IterVar.iter_type`)."""

BLOCKS, LOADS = ("SBlock", "Block"), ("BufferLoad", "TensorLoad")


def make_elementwise() -> Pass:
    """TIR pass on functions that are not scheduled: blocks that reduce one term compute it."""

    def transform(func: Any, _mod: Any, _ctx: Any) -> Any:
        body = func.body
        if not (func.attrs and "tirx.is_scheduled" in func.attrs):
            for name in BLOCKS:
                body = map_nodes(body, name, _without_reduction)
        return func if body.same_as(func.body) else func.with_body(body)

    return import_tvm().tirx.transform.prim_func_pass(transform, opt_level=0, name="adreno_sim.MakeElementwise")


def _without_reduction(block: Any) -> Any:
    """The block as an elementwise one; itself where it reduces more than one term, or reads its result after it has set it."""
    reduced = [var for var in block.iter_vars if int(var.iter_type) == REDUCED]
    starts = None if block.init is None or not all(map(_is_unit, reduced)) else _stores(block.init)
    if starts is None or _reads_again(block.body, starts):
        return block
    tirx = import_tvm().tirx
    axes = [tirx.IterVar(var.dom, var.var, SPATIAL) if _is_unit(var) else var for var in block.iter_vars]
    body = block.body
    for name in LOADS:
        body = map_nodes(body, name, lambda load: _started(load, starts))
    return type(block)(
        axes, block.reads, block.writes, block.name_hint, body, None,
        block.alloc_buffers, block.match_buffers, block.annotations, block.span,
    )  # fmt: skip


def _is_unit(axis: Any) -> bool:
    return read.kind(axis.dom.extent) == "IntImm" and int(axis.dom.extent) == 1


def _stores(statement: Any) -> list[Any] | None:
    """The stores that a statement consists of; None for any other statement."""
    parts = list(statement.seq) if read.kind(statement) == "SeqStmt" else [statement]
    return parts if all(read.kind(part) == "BufferStore" for part in parts) else None


def _started(load: Any, starts: list[Any]) -> Any:
    """The value with which a result begins for a load of it; any other load unchanged."""
    start = next((start for start in starts if _same_element(load, start)), None)
    return load if start is None else start.value


def _same_element(load: Any, store: Any) -> bool:
    if not read.loaded_buffer(load).same_as(store.buffer):
        return False
    return [read.structure(index) for index in load.indices] == [read.structure(index) for index in store.indices]


def _reads_again(body: Any, starts: list[Any]) -> bool:
    """Whether a body reads a result where it may be no more what it began with."""
    written = False
    for node in _in_order(body):
        if read.kind(node) in ("For", "While"):
            return True
        written = written or read.kind(node) == "BufferStore"
        is_result = read.kind(node) in LOADS and any(read.loaded_buffer(node).same_as(start.buffer) for start in starts)
        if is_result and (written or not any(_same_element(node, start) for start in starts)):
            return True
    return False


def _in_order(node: Any) -> Iterator[Any]:
    """Every node below `node`, and it, each after what it is made of."""
    for child in read.children(node):
        yield from _in_order(child)
    yield node


def add_pass(passes: list[Pass], _target: Target) -> list[Pass]:
    """Run once functions are fused: before tuned schedules and rules see them."""
    return after_last(passes, "FuseTIR", make_elementwise())


FIX = Fix(
    name="one-term-reduction",
    versions=ALL_VERSIONS,
    summary="what follows a sum of one term is applied to it once, not twice",
    relax=add_pass,
)
