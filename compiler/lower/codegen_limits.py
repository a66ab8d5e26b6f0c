"""What TVM's code generation for OpenCL writes wrong, found before it is written: refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import UncompiledError
from ..passes.llm.vector_store_address import has_let_in_address
from ..tvm_bridge import read
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule

EXTERN = "tirx.call_pure_extern"

FUNCTIONS = {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cosh", "erf", "hypot", "log1p", "sinh", "tan"}
"""Functions of OpenCL C, which overload; C's for floats end in f, and TVM writes some of these."""

SYNC = "tirx.tvm_storage_sync"


def require_printable(device: IRModule) -> None:
    """Raise UncompiledError naming the first kernel whose text would not compile, or mean something else."""
    import tvm_ffi

    for var, function in device.functions_items():
        stores: list[Any] = []
        tvm_ffi.structural_walk(function.body, (import_tvm().tirx.BufferStore, stores.append))
        if any(map(has_let_in_address, stores)):
            raise UncompiledError(
                f"unsupported: kernel {var.name_hint}: TVM's code generation for OpenCL declares a variable inside a vector "
                "store (a Let in its address), which no driver compiles; next: the fixed pipeline, whose fix "
                "vector-store-address mends it"
            )
        if names := sorted(name for name in _outside(function.body) if name.endswith("f") and name[:-1] in FUNCTIONS):
            raise UncompiledError(
                f"unsupported: kernel {var.name_hint}: TVM's code generation for OpenCL calls {', '.join(names)}, which C has "
                f"and OpenCL C has not; next: express {', '.join(name[:-1] for name in names)} by other operators"
            )
        if _syncs_warp_under_condition(function.body, False):
            raise UncompiledError(
                f"unsupported: kernel {var.name_hint}: TVM's code generation for OpenCL makes a barrier of a warp's "
                "synchronisation inside a condition, which only some work-items reach: undefined; next: give the target "
                "thread_warp_size 1 (TVM's default)"
            )


def _outside(node: Any) -> set[str]:
    """The names of the functions outside the module that a node calls."""
    own = {str(node.args[0].value)} if read.kind(node) == "Call" and read.op_name(node) == EXTERN else set()
    return own.union(*map(_outside, read.children(node)))


def _syncs_warp_under_condition(node: Any, under: bool) -> bool:
    kind = read.kind(node)
    if kind == "Call" and read.op_name(node) == SYNC:
        return under and str(getattr(node.args[0], "value", "")) == "warp"
    return any(_syncs_warp_under_condition(child, under or kind == "IfThenElse") for child in read.children(node))
