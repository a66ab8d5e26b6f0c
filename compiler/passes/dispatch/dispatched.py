"""Functions that TVM's dispatch adds to a module, made fit for the passes of the Adreno pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tvm_bridge import read
from ...tvm_bridge.versions import import_tvm
from ..kernels.own_threads import SCHEDULED, has_threads

if TYPE_CHECKING:
    from tvm.ir.transform import Pass


def dispatch(added_by: Pass, name: str) -> Pass:
    """Relax pass: a dispatch of TVM's, and the functions that it adds made fit for the passes that follow.

    Functions of launches alone are marked as scheduled: TVM's schedule rules ask for a root block. Parameters get the alignment
    and the type of constant sizes that tensors have: SpecializePrimFuncBasedOnCallSite stops at any difference.
    """
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        before = {str(var.name_hint) for var in mod.get_global_vars()}
        mod = added_by(mod)
        for var, func in mod.functions_items():
            if isinstance(func, tvm.tirx.PrimFunc) and str(var.name_hint) not in before:
                func = _with_usual_parameters(func)
                mod[var] = func.with_attr(SCHEDULED, True) if has_threads(func) else func
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name=f"adreno_sim.{name}")


def _with_usual_parameters(func: Any) -> Any:
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
