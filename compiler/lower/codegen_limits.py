"""What TVM's code generation for OpenCL writes wrong, found before it is written: refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import UncompiledError
from ..passes.kernels.function_suffix import foreign_name
from ..passes.llm.vector_store_address import has_let_in_address
from ..tvm_bridge import read
from ..tvm_bridge.versions import import_tvm, tvm_series

if TYPE_CHECKING:
    from tvm import IRModule

SYNC = "tirx.tvm_storage_sync"


def require_printable(device: IRModule) -> None:
    """Raise UncompiledError naming the first kernel whose text would not compile, or mean something else."""
    for var, function in device.functions_items():
        stores, calls, conditions = _found(function.body)
        if any(map(has_let_in_address, stores)):
            raise UncompiledError(
                f"unsupported: kernel {var.name_hint}: TVM's code generation for OpenCL declares a variable inside a vector "
                "store (a Let in its address), which no driver compiles; next: the fixed pipeline, whose fix "
                "vector-store-address repairs it"
            )
        if names := sorted({*map(foreign_name, calls)} - {""}):
            raise UncompiledError(
                f"unsupported: kernel {var.name_hint}: TVM's code generation for OpenCL calls {', '.join(names)}, which C has "
                "and OpenCL C has not; next: the fixed pipeline, whose fix function-suffix repairs it"
            )
        if any(map(_stores_vector_of_bools, stores)):
            raise UncompiledError(
                f"unsupported: kernel {var.name_hint}: TVM's code generation for OpenCL stores vectors of bool, which OpenCL C "
                "has not; next: cast to int8 or int64 before (a sum of booleans is not a boolean either)"
            )
        if any(map(_syncs_warp, calls)) and any(any(map(_syncs_warp, _found(branch)[1])) for branch in conditions):
            raise UncompiledError(
                f"unsupported: kernel {var.name_hint}: TVM's code generation for OpenCL makes a barrier of a warp's "
                "synchronisation inside a condition, which only some work-items reach: undefined; next: give the target "
                "thread_warp_size 1 (TVM's default)"
            )


def _found(node: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """The stores into buffers, the calls and the conditional statements of a statement."""
    tvm = import_tvm()
    stores: list[Any] = []
    calls: list[Any] = []
    conditions: list[Any] = []
    if tvm_series() == "0.25":
        by_kind = {"BufferStore": stores, "Call": calls, "IfThenElse": conditions}
        tvm.tirx.stmt_functor.post_order_visit(node, lambda each: by_kind.get(read.kind(each), []).append(each))
        return stores, calls, conditions
    import tvm_ffi

    kept = (tvm.tirx.BufferStore, stores.append), (tvm.ir.Call, calls.append), (tvm.tirx.IfThenElse, conditions.append)
    tvm_ffi.structural_walk(node, kept)
    return stores, calls, conditions


def _stores_vector_of_bools(store: Any) -> bool:
    """Whether a vector of bool goes to memory of the kernel's own. Parameters of bool are chars."""
    info = read.buffer_info(store.buffer)
    return info.dtype == "bool" and info.scope != "global" and any(read.kind(index) == "Ramp" for index in store.indices)


def _syncs_warp(call: Any) -> bool:
    return read.op_name(call) == SYNC and str(getattr(call.args[0], "value", "")) == "warp"
