"""Relax operators that are still calls of operators once TVM has legalised a module, and what a truth makes of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...compiler.tvm_bridge import read

PROGRAMS = ("relax.call_tir", "relax.call_tir_with_grad")
"""Calls of a PrimFunc."""

SAME = (
    "relax.hint_on_device", "relax.to_vdevice", "relax.wrap_param", "relax.builtin.stop_lift_params",
    "relax.memory.ensure_zero_offset", "relax.dist.annotate_sharding", "relax.dist.redistribute",
)  # fmt: skip
"""Operators whose result is their first operand, wherever it lies."""

EFFECTS = (
    "relax.assert_op", "relax.run.assert_op", "relax.print", "relax.run.print",
    "relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object",
)  # fmt: skip
"""Operators that give no value."""

SHAPE_OF = ("relax.shape_of", "vm.builtin.shape_of")
SHAPE_TO_TENSOR = ("relax.shape_to_tensor", "relax.run.shape_to_tensor")
TENSOR_TO_SHAPE = ("relax.tensor_to_shape", "vm.builtin.tensor_to_shape")
RESHAPE = ("relax.reshape", "vm.builtin.reshape")
SHAPES = (*SHAPE_OF, *SHAPE_TO_TENSOR, *TENSOR_TO_SHAPE, *RESHAPE)
"""Operators on shapes: their names in a module, and those of the functions of TVM's runtime that compute them."""

_PACKED = ("relax.call_packed", "relax.call_pure_packed", "relax.call_dps_packed")

WITHOUT_A_VALUE = {
    **dict.fromkeys(
        ("relax.nonzero", "relax.unique"), "how many elements they give depends on values, and TVM has no kernel for them"
    ),
    "relax.ewise_fma": "TVM legalises it for no target",
    **dict.fromkeys(
        (
            "relax.invoke_pure_closure", "relax.invoke_closure", "relax.make_closure", "relax.call_py_func",
            "relax.call_dps_packed", "relax.call_inplace_packed", "relax.call_pure_packed", "relax.call_builtin_with_ctx",
        ),
        "they call what is not part of the module",
    ),
    **dict.fromkeys(
        (
            "relax.memory.alloc_storage", "relax.memory.alloc_tensor", "relax.memory.view", "relax.vm.alloc_storage",
            "relax.vm.alloc_tensor", "relax.builtin.alloc_tensor", "relax.vm.call_tir_dyn", "relax.call_tir_inplace",
            "relax.null_value", "relax.dist.call_tir_local_view",
        ),
        "TVM's own passes make them, after the point at which a truth takes the module",
    ),
}  # fmt: skip
"""Operators without a truth -> why."""


def called(call: Any) -> tuple[str, Sequence[Any]]:
    """What a Relax call calls, and its operands: a function of the runtime counts as called by its own name."""
    name = read.op_name(call)
    if name in _PACKED and len(call.args):
        return str(getattr(call.args[0], "global_symbol", name)), list(call.args)[1:]
    return name, list(call.args)
