"""kernel-locals: private memory that a function allocates around a launch is allocated in the kernel.

TVM's scans along another axis than the last, exclusive ones and products declare the private variables of a kernel in the loop of
the host that launches it. The kernel then takes a pointer to private memory as an argument, which OpenCL does not have. 0.25 to
0.27; fixed from 0.26 on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...tvm_bridge import read
from ...tvm_bridge.versions import import_tvm
from ..base import Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass


def allocate_in_kernels() -> Pass:
    """TIR pass: a local buffer that only launches use is allocated in each of them. Private memory does not outlive a launch."""

    def transform(func: Any, _mod: Any, _ctx: Any) -> Any:
        around = [node for node in _around_launches(func.body) if _is_local(node)]
        kept = _buffers(node for node in _around_launches(func.body) if not _is_local(node))
        moved = [node for node in around if read.buffer_key(node.buffer) not in kept]
        return func.with_body(_move(func.body, moved)) if moved else func

    return import_tvm().tirx.transform.prim_func_pass(transform, opt_level=0, name="adreno_sim.AllocateInKernels")


def _around_launches(node: Any) -> Iterator[Any]:
    """Every node that the host itself evaluates."""
    yield node
    for child in () if _is_launch(node) else read.children(node):
        yield from _around_launches(child)


def _is_launch(node: Any) -> bool:
    return read.kind(node) == "AttrStmt" and str(node.attr_key) == "thread_extent"


def _is_local(node: Any) -> bool:
    return read.kind(node) == "AllocBuffer" and read.buffer_info(node.buffer).scope == "local"


def _buffers(nodes: Any) -> set[int]:
    """Keys of the buffers that are loaded or stored."""
    accesses = (node for node in nodes if read.kind(node) in ("BufferLoad", "TensorLoad", "BufferStore"))
    return {read.buffer_key(read.loaded_buffer(node)) for node in accesses}


def _move(node: Any, moved: list[Any]) -> Any:
    """The statement without the allocations `moved`, which are in its launches instead, and only where they are used."""
    import tvm_ffi

    tirx = import_tvm().tirx
    keys = {read.key(item) for item in moved}

    def launch(attr: Any) -> Any:
        body = attr.body
        if not _is_launch(attr) or _is_launch(body):
            return attr
        used = _buffers(read.walk(body))
        own = [item for item in moved if read.buffer_key(item.buffer) in used]
        return tirx.AttrStmt(attr.node, attr.attr_key, attr.value, tirx.SeqStmt([*own, body])) if own else attr

    def sequence(node: Any) -> Any:
        rest = [item for item in node.seq if read.key(item) not in keys]
        return node if len(rest) == len(node.seq) else rest[0] if len(rest) == 1 else tirx.SeqStmt(rest)

    without = tvm_ffi.structural_map(node, (tirx.SeqStmt, sequence), order="post")
    return tvm_ffi.structural_map(without, (tirx.AttrStmt, launch), order="post")


FIX = Fix(
    name="kernel-locals",
    versions=("0.26", "0.27"),
    summary="private memory that is allocated around a launch is allocated in the kernel",
    tir=("tirx.StorageRewrite", allocate_in_kernels),
)
