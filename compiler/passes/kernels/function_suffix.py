"""function-suffix: functions of OpenCL C are called by its names, where TVM writes those of C for floats (atanf, tanf, erff).

TVM's rules for OpenCL name some functions, as exp and sin; what they leave is lowered by the rule for C, which appends an f.
OpenCL C overloads: no driver builds such a kernel. 0.25 to 0.27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tvm_bridge.read import kind, op_name
from ...tvm_bridge.versions import import_tvm, tvm_series
from ..base import ALL_VERSIONS, Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

EXTERN = "tirx.call_pure_extern"

FUNCTIONS = {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cosh", "erf", "hypot", "log1p", "sinh", "tan"}
"""Functions of OpenCL C, which overload; C's for floats end in f, and TVM writes some of these."""


def foreign_name(call: Any) -> str:
    """The name of C's function for floats that a call has where OpenCL C has another; "" for any other node."""
    if kind(call) != "Call" or op_name(call) != EXTERN:
        return ""
    name = str(call.args[0].value)
    return name if name.endswith("f") and name[:-1] in FUNCTIONS else ""


def call_by_opencl_names() -> Pass:
    """TIR pass on device code: such calls get OpenCL C's name."""
    tvm = import_tvm()

    def transform(func: Any, _mod: Any, _ctx: Any) -> Any:
        body = _rewrite_calls(func.body)
        return func if body.same_as(func.body) else func.with_body(body)

    return tvm.tirx.transform.prim_func_pass(transform, opt_level=0, name="adreno_sim.CallByOpenCLNames")


def _rewrite_calls(body: Any) -> Any:
    tvm = import_tvm()
    if tvm_series() == "0.25":
        return tvm.tirx.stmt_functor.ir_transform(body, None, _rename, ["tirx.Call"])
    import tvm_ffi

    return tvm_ffi.structural_map(body, (tvm.ir.Call, _rename), order="post")


def _rename(call: Any) -> Any:
    name = foreign_name(call)
    if not name:
        return call
    args = [type(call.args[0])(name[:-1]), *list(call.args)[1:]]
    if tvm_series() == "0.25":
        return import_tvm().tirx.Call(call.dtype, call.op, args)
    return import_tvm().ir.Call(call.op, args, attrs=call.attrs, ret_ty=call.ty)


FIX = Fix(
    name="function-suffix",
    versions=ALL_VERSIONS,
    summary="functions that C names with an f for floats (atanf, tanf) are called by OpenCL C's names, and compile",
    device=call_by_opencl_names,
)
