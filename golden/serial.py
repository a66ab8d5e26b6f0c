"""PrimFuncs that were scheduled for a GPU, with serial loops instead of threads: what a CPU runs, and a truth is made of.

Blocks say what they compute by their axes, whoever runs which iteration: loops that a schedule bound to threads may run one after
the other. A function that was written for threads does not: what a work-item does depends on the others, through barriers, or
through blocks that have no axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..compiler.tvm_bridge import read
from ..compiler.tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule

WRITTEN_FOR_THREADS = ("tirx.tvm_storage_sync", "tirx.tvm_thread_allreduce", "tirx.tvm_thread_invariant")
"""Operators that say what work-items do to each other."""


def without_threads(module: IRModule) -> IRModule:
    """The module with each PrimFunc whose threads are a schedule's without them; the others unchanged."""
    tvm = import_tvm()
    functions = {
        var: make_serial(function) if isinstance(function, tvm.tirx.PrimFunc) else function
        for var, function in module.functions_items()
    }
    return tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos)


def make_serial(function: Any) -> Any:
    """The function with serial loops for those bound to threads; itself where it has none, or was written for threads."""
    bound = [node for node in read.walk(function.body) if read.kind(node) == "For" and node.thread_binding is not None]
    if not bound or not _is_scheduled(function):
        return function
    import tvm_ffi

    tirx = import_tvm().tirx

    def make_loop_serial(loop: Any) -> Any:
        if loop.thread_binding is None:
            return loop
        return tirx.For(loop.loop_var, loop.min, loop.extent, tirx.ForKind.SERIAL, loop.body)

    body = tvm_ffi.structural_map(function.body, (tirx.For, make_loop_serial), order="post")
    return function.with_body(body).without_attr("tirx.is_scheduled")


def _is_scheduled(function: Any) -> bool:
    """Whether every store is in a block with axes, and no work-item waits for another."""
    calls = (node for node in read.walk(function.body) if read.kind(node) == "Call")
    return not any(read.op_name(call) in WRITTEN_FOR_THREADS for call in calls) and _stores_by_axes(function.body, False)


def _stores_by_axes(node: Any, by_axes: bool) -> bool:
    kind = read.kind(node)
    if kind == "BufferStore":
        return by_axes
    if kind in ("SBlock", "Block"):
        by_axes = len(node.iter_vars) > 0
    return all(_stores_by_axes(child, by_axes) for child in read.children(node))
