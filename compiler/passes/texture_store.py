"""texture-store: one vector store per texel, where TVM stores a texel once per lane.

TVM 0.26 and 0.27 leave `for lane in vectorized(4): texture2d_store(texel, value(lane))` scalar: VectorizeLoop gives up
on a call whose return type is not a primitive type. Each of the four writes then splats one lane over the whole texel, so
that every channel ends up with the last lane. 0.25 vectorises the call and is right.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from ...records import dataclass
from ..tvm_bridge.versions import dtype_of, import_tvm
from .base import Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

STORE = "tirx.texture2d_store"


def gather_texture_stores() -> Pass:
    """TIR pass: collects the lanes of a texture store in a private array, and stores the texel once after the loop.

    `for lane: a; store(texel, v(lane)); b` becomes `for lane: a; t[lane] = v(lane); b` followed by
    `store(texel, t[0:4])`, each store of a loop with a separate array. VectorizeLoop handles what is left in the
    loop. Loops whose texel or condition depends on the lane are left alone.
    """
    tvm = import_tvm()

    def transform(func: Any, _mod: Any, _ctx: Any) -> Any:
        import tvm_ffi

        body = tvm_ffi.structural_map(func.body, (tvm.tirx.For, _rewrite_loop), order="post")
        return func if body.same_as(func.body) else func.with_body(body)

    return tvm.tirx.transform.prim_func_pass(transform, opt_level=0, name="adreno_sim.GatherTextureStores")


@dataclass
class _SplitBody:
    """A split loop body: statements that stay in the loop, statements after it, and the arrays that connect them."""

    inside: Any = None
    after: Any = None
    arrays: list[Any] = field(default_factory=list)


class _DependsOnLane(Exception):
    """A texel or a condition that differs between the lanes: not one store."""


def _rewrite_loop(loop: Any) -> Any:
    tirx = import_tvm().tirx
    if loop.kind != tirx.ForKind.VECTORIZED or not _stores_texture(loop.body):
        return loop
    try:
        parts = _split_body(loop.body, loop.loop_var, int(loop.extent))
    except _DependsOnLane:
        return loop
    gather = tirx.For(loop.loop_var, loop.min, loop.extent, loop.kind, parts.inside)
    return tirx.SeqStmt([*(tirx.AllocBuffer(array) for array in parts.arrays), gather, parts.after])


def _stores_texture(stmt: Any) -> bool:
    import tvm_ffi

    tvm = import_tvm()
    found: list[Any] = []
    tvm_ffi.structural_walk(stmt, (tvm.ir.Call, lambda call: found.append(call) if _is_store(call) else None))
    return bool(found)


def _is_store(call: Any) -> bool:
    return getattr(call.op, "name", "") == STORE


def _split_body(stmt: Any, lane: Any, lanes: int) -> _SplitBody:
    tirx = import_tvm().tirx
    if not _stores_texture(stmt):
        return _SplitBody(inside=stmt)
    if isinstance(stmt, tirx.SeqStmt):
        parts = [_split_body(part, lane, lanes) for part in stmt.seq]
        arrays = [array for part in parts for array in part.arrays]
        return _SplitBody(_sequence([part.inside for part in parts]), _sequence([part.after for part in parts]), arrays)
    if isinstance(stmt, tirx.IfThenElse) and stmt.else_case is None:
        _require_uniform(stmt.condition, lane)
        part = _split_body(stmt.then_case, lane, lanes)
        inside, after = (tirx.IfThenElse(stmt.condition, body, None) for body in (part.inside, part.after))
        return _SplitBody(inside, after, part.arrays)
    if isinstance(stmt, tirx.Evaluate):
        return _split_store(stmt.value, lane, lanes)
    raise _DependsOnLane


def _sequence(stmts: list[Any]) -> Any:
    present = [stmt for stmt in stmts if stmt is not None]
    return present[0] if len(present) == 1 else import_tvm().tirx.SeqStmt(present) if present else None


def _require_uniform(expr: Any, lane: Any) -> None:
    if any(var.same_as(lane) for var in import_tvm().tirx.analysis.undefined_vars(expr)):
        raise _DependsOnLane


def _split_store(call: Any, lane: Any, lanes: int) -> _SplitBody:
    tirx = import_tvm().tirx
    *where, value = call.args
    for arg in where[1:]:
        _require_uniform(arg, lane)
    array = tirx.decl_buffer((lanes,), dtype_of(value), name="texel", scope="local")
    gathered = tirx.BufferLoad(array, [tirx.Ramp(tirx.const(0, dtype_of(lane)), tirx.const(1, dtype_of(lane)), lanes)])
    store = import_tvm().ir.Call(call.op, [*where, gathered], attrs=call.attrs, ret_ty=call.ty)
    return _SplitBody(tirx.BufferStore(array, value, [lane]), tirx.Evaluate(store), [array])


FIX = Fix(
    name="texture-store",
    versions=("0.26", "0.27"),
    summary="a texel is stored once, with its own four lanes, instead of once per lane",
    tir=("tirx.VectorizeLoop", gather_texture_stores),
)
