"""What a whole model should compute without rounding: its operators one by one, each from what those before it gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.tvm_bridge.infinite_fills import broadcast_fills
from ...compiler.tvm_bridge.tensors import constant_array, tensor_of
from ...compiler.tvm_bridge.versions import import_tvm
from ...memory.spilled import drop_resident_pages, spill
from .. import result_cache
from ..errors import last_line
from ..serial import without_threads
from .follow import follow
from .model_plan import flatten
from .operators.operator import Operator, gives_places
from .planner import Planner
from .run import Truth
from .units import Units
from .value import Unmodelled

if TYPE_CHECKING:
    from tvm import IRModule


class ModelTruth:
    """A module without any pass for a device; operators as TVM legalises them for inference."""

    def __init__(self, imported: IRModule):
        transform = import_tvm().relax.transform
        inferred = transform.DecomposeOpsForInference()(broadcast_fills()(without_threads(imported)))
        try:
            self._module = transform.LegalizeOps({"relax.permute_dims": _legalize_permutation})(inferred)
        except Exception as error:  # TVM raises whatever its C++ and Python layers raise
            raise Unmodelled(f"TVM does not legalise it: {last_line(error)}") from error

    def run(
        self, inputs: Sequence[np.ndarray], units: Units, function: str = "main", places: Sequence[np.ndarray] = ()
    ) -> tuple[list[Truth], list[str]]:
        """Outputs of `function` and their types, tuples flattened. Raises Unmodelled where it holds what no truth is made of.

        places: what a device gave for each operator that says where sorted values come from, in order; followed where rounding
        decides. They say nothing where they are not as many as the operators.
        """
        functions = {str(var.name_hint): found for var, found in self._module.functions_items()}
        plan = Planner(functions, units).plan(function, inputs)
        asked = sum(isinstance(program, Operator) and gives_places(program) for program in plan.programs)
        places = places if len(places) == asked else ()
        key = result_cache.key_of("model truth", units, *plan.content(), *inputs, len(places), *places)
        truths: list[Truth] | None = result_cache.load(key, list[Truth])
        if truths is None:
            truths = follow(plan, inputs, units, places)
            result_cache.store(key, list[Truth], truths)
        return truths, [plan.dtypes[number] for number in flatten(plan.result)]


def _legalize_permutation(builder: Any, call: Any) -> Any:
    """The operator as TVM legalises it; of a constant, another constant: as a result weights would be doubles, twice as large."""
    array = constant_array(call.args[0])
    if array is None:
        return call.op.get_attr("FLegalize")(builder, call)
    axes = None if call.attrs.axes is None else [int(axis) for axis in call.attrs.axes]
    moved = tensor_of(spill(np.transpose(array, axes)))
    drop_resident_pages()
    return import_tvm().relax.const(moved)
