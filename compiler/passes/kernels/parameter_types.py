"""parameter-types: parameters of PrimFuncs get the alignment, and the type of constant sizes, that tensors have.

SpecializePrimFuncBasedOnCallSite takes any difference between a parameter and the tensor of a call for a size to be replaced, and
stops ("expected an independent Var, but got 1"): a size of 1 that a function by hand, or a dispatch, gives as int32 is enough.
0.26 and 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tvm_bridge import read
from ...tvm_bridge.versions import import_tvm
from ..base import Fix
from ..shared_function import SPECIALIZE

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def settle_parameters() -> Pass:
    """Module pass: parameters of PrimFuncs that calls specialize are as those of tensors."""

    def transform(mod: Any, _ctx: Any) -> Any:
        for var in _called(mod):
            mod[var] = _settle(mod[var])
        return mod

    return import_tvm().transform.module_pass(transform, opt_level=0, name="adreno_sim.SettleParameters")


def _called(mod: Any) -> list[Any]:
    """What `call_tir` calls."""
    relax = import_tvm().relax
    found: dict[str, Any] = {}

    def note(node: Any) -> None:
        if read.kind(node) == "Call" and read.op_name(node) == "relax.call_tir":
            found[str(node.args[0].name_hint)] = node.args[0]

    for _, function in mod.functions_items():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, note)
    return list(found.values())


def _settle(func: Any) -> Any:
    import tvm_ffi

    tirx = import_tvm().tirx
    usual = tirx.decl_buffer((1,)).ty.data_alignment
    instead: dict[int, Any] = {}
    for param in func.params:
        ty: Any = getattr(param, "ty", None)
        if read.kind(ty) != "BufferType":
            continue
        shape = [tirx.const(int(size), "int64") if read.kind(size) == "IntImm" else size for size in ty.shape]
        if ty.data_alignment != usual or any(read.dtype_of(size) != "int64" for size in ty.shape):
            name, scope = read.var_name(param), ty.storage_scope
            instead[read.key(param)] = tirx.decl_buffer(shape, ty.dtype, name, scope=scope, data_alignment=usual)
    if not instead:
        return func
    params = [instead.get(read.key(param), param) for param in func.params]
    body = tvm_ffi.structural_map(func.body, (tirx.Var, lambda var: instead.get(read.key(var), var)), order="post")
    return tirx.PrimFunc(params, body, func.ret_type, func.attrs)


def add(passes: list[Pass], _target: Target) -> list[Pass]:
    """Run just before the scopes are written into the functions."""
    return [step for item in passes for step in ((settle_parameters(), item) if item.info.name == SPECIALIZE else (item,))]


FIX = Fix(
    name="parameter-types",
    versions=("0.26", "0.27"),
    summary="functions by hand whose sizes are not int64 compile for textures",
    relax=add,
)
