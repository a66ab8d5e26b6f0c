"""Element-by-element PrimFuncs as the Relax operators they came from.

TVM's ONNX importer writes Clip as two PrimFuncs (the greater, then the lesser of each element and a bound). To the layout
conversion they are opaque.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tvm_bridge.read import buffer_info, buffer_param, key, kind, loaded_buffer
from ..tvm_bridge.rewrite_calls import rewrite_calls
from ..tvm_bridge.schedule_blocks import blocks_of
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

OPERATORS = {"Max": "maximum", "Min": "minimum"}
"""Class of the expression that a PrimFunc stores -> Relax operator."""


def raise_elementwise() -> Pass:
    """Relax pass: `call_tir` of a PrimFunc that stores the maximum or minimum of its two operands becomes that operator."""
    tvm = import_tvm()
    steps = [rewrite_calls("RaiseElementwise", ("relax.call_tir",), _raise), tvm.relax.transform.DeadCodeElimination()]
    return tvm.transform.Sequential(steps, name="adreno_sim.RaiseElementwise")


def _raise(builder: Any, call: Any) -> Any:
    operands = list(call.args[1].fields) if hasattr(call.args[1], "fields") else []
    function = builder.get()[call.args[0]]
    name = _operator(function) if len(operands) == 2 and len(function.params) == 3 else None
    return call if name is None else getattr(import_tvm().relax.op, name)(*operands)


def _operator(function: Any) -> str | None:
    """The operator of two operands that a PrimFunc of one block is, None for any other function."""
    sch = import_tvm().s_tir.Schedule(function)
    blocks = blocks_of(sch)
    store: Any = sch.get(blocks[0]).body if len(blocks) == 1 else None
    name = OPERATORS.get(kind(getattr(store, "value", None)))
    if kind(store) != "BufferStore" or name is None:
        return None
    loads = [store.value.a, store.value.b]
    if any(kind(load) not in ("BufferLoad", "TensorLoad") for load in loads):
        return None
    first, second, result = (buffer_param(function, param) for param in function.params)
    read = [buffer_info(loaded_buffer(load)).key for load in loads]
    if first is None or second is None or result is None or read != [first.key, second.key]:
        return None
    axes = [key(index) for index in store.indices]
    fits = all(_follows(load.indices, axes, buffer) for load, buffer in zip(loads, (first, second), strict=True))
    return name if fits else None


def _follows(indices: Any, axes: list[int], buffer: Any) -> bool:
    """Whether an operand is read at the position of the result, as NumPy broadcasts it."""
    if len(indices) > len(axes):
        return False
    places = zip(indices, axes[len(axes) - len(indices) :], buffer.shape, strict=True)
    return all(key(index) == axis or str(size) == "1" for index, axis, size in places)
