"""Loads and stores of elements that lie side by side in memory, one instruction each: all of them, or those of a mask."""

from __future__ import annotations

from ....ir import ir, llvm_types
from ...emit.builtin_registry import intrinsic_suffix
from ..values import LaneValues


def emit_row_load(e: LaneValues, address: str, elem: ir.Type, length: int, mask: str | None, align: int) -> str:
    """Emits the load of `length` elements. Elements outside `mask` are not accessed, and zero."""
    spelled, suffix, lanes = _spell(elem, length)
    if mask is None:
        return e.body.op(f"load {spelled}, ptr {address}, align {align}")
    callee = e.unit.declare(f"llvm.masked.load.{suffix}.p0", spelled, f"ptr, {lanes}, {spelled}")
    return e.body.op(f"call {callee}(ptr align {align} {address}, {lanes} {mask}, {spelled} zeroinitializer)")


def emit_row_store(e: LaneValues, address: str, elem: ir.Type, length: int, row: str, mask: str | None, align: int) -> None:
    """Emits the store of `length` elements. Elements outside `mask` are not accessed."""
    spelled, suffix, lanes = _spell(elem, length)
    if mask is None:
        e.body.do(f"store {spelled} {row}, ptr {address}, align {align}")
        return
    callee = e.unit.declare(f"llvm.masked.store.{suffix}.p0", "void", f"{spelled}, ptr, {lanes}")
    e.body.do(f"call {callee}({spelled} {row}, ptr align {align} {address}, {lanes} {mask})")


def _spell(elem: ir.Type, length: int) -> tuple[str, str, str]:
    """Returns the type of a row in LLVM text, and in names of intrinsics, and the type of its mask."""
    row = ir.Vector(elem, length)  # type: ignore[arg-type]
    return llvm_types.spell(row), intrinsic_suffix(row), f"<{length} x i1>"
