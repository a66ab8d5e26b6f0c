"""Refuses inputs from which an operator would get an index that is out of range: what it then reads is not a kernel's fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....base.errors import AdrenoSimError
from ....base.integers.interval import Interval
from ...importers.index_uses import IndexUse, index_uses
from ...importers.inputs import Arrays
from ...importers.model import Model
from ...importers.value_ranges import ValueRanges
from ...memory_scopes.demand import bindings
from ...tvm_bridge.read import kind
from ...tvm_bridge.versions import import_tvm

GENERATED = "the inputs were generated: give --input"


def require_valid_indices(model: Model, arrays: Arrays, generated: bool) -> None:
    """Raise AdrenoSimError naming the operator and the value where an index is out of its range.

    What intervals do not prove is computed on the CPU: the indices alone, not the rest of the model. generated: nobody gave the
    inputs, so that the message asks for some. A compiled model does not say what consumes its inputs, and is not examined.
    """
    if model.module is None:
        return
    plain = import_tvm().relax.transform.ToNonDataflow()(model.module)
    if any(kind(getattr(binding, "value", None)) == "If" for binding in bindings(plain["main"])):
        return  # an index inside a branch is none of a path that is not taken
    open_uses = _unproven(plain, model, arrays)
    if not open_uses:
        return
    from ....golden.errors import NoReferenceError
    from ....golden.model_reference import ModelReference

    try:
        values = ModelReference(_with_outputs(plain, [use.operand for use in open_uses])).run(list(arrays.values()))
    except NoReferenceError:
        return
    for use, value in zip(open_uses, values, strict=True):
        wrong = (value < np.array(use.lows)) | (value > np.array(use.highs))
        if wrong.any():
            allowed = f"{use.lows[0]} to {min(use.highs)}" + (" or more, by axis" if len(set(use.highs)) > 1 else "")
            why = f"; {GENERATED}" if generated else ""
            raise AdrenoSimError(f"inputs: {use.what} gets the index {value[wrong].flat[0]}: expected {allowed}{why}")


def _unproven(module: Any, model: Model, arrays: Arrays) -> list[IndexUse]:
    """The uses whose index the intervals of these inputs leave open."""
    symbols: dict[str, int] = {}
    for item, array in zip(model.inputs, arrays.values(), strict=True):
        symbols.update({dim: size for dim, size in zip(item.shape, array.shape, strict=True) if isinstance(dim, str)})
    ranges = ValueRanges(module, symbols)
    given = {
        position: Interval(int(array.min()), int(array.max()))
        for position, array in enumerate(arrays.values())
        if array.size and array.dtype.kind in "iub"
    }
    found = []
    for use in index_uses(ranges):
        low, high = ranges.of(use.operand, given)[0]
        if use.strict and not (max(use.lows) <= low and high <= min(use.highs)):
            found.append(use)
    return found


def _with_outputs(module: Any, outputs: Sequence[Any]) -> Any:
    """The module with a `main` that gives only these of its variables, and computes only what they need."""
    tvm = import_tvm()
    relax = tvm.relax
    function = module["main"]
    others = {var: other for var, other in module.functions_items() if str(var.name_hint) != "main"}
    builder = relax.BlockBuilder(tvm.IRModule(others, attrs=module.attrs, global_infos=module.global_infos))
    with builder.function("main", list(function.params)):
        for block in function.body.blocks:
            for binding in block.bindings:
                builder.emit_normalized(binding)
        builder.emit_func_output(builder.emit(relax.Tuple(list(outputs))))
    return relax.transform.DeadCodeElimination()(builder.get())
