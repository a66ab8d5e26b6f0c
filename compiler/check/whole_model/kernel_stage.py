"""Which stage behind fusion changed what a kernel means: its schedule, or what makes OpenCL C of that and runs it in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...importers.model import Model
from ...lower.option_records import LowerOptions
from .stages import is_same, run_passes

if TYPE_CHECKING:
    from ....golden.kernel_reference import Argument
    from ....golden.truth.units import Units

SCHEDULED = "its schedule changed the meaning"
GENERATED = (
    "the scheduled PrimFunc is right if its work-items run one after the other: the cause is how work-items affect each other, "
    "or the code that TVM generates"
)


def find_kernel_stage(model: Model, options: LowerOptions, name: str, args: Sequence[Argument], units: Units) -> str:
    """SCHEDULED or GENERATED for a function whose kernels compute something else; "" if that is not to be found.

    The function is evaluated without rounding before it is scheduled, and after, with its threads one after the other.
    args: of the call, as the references take them.
    """
    if not isinstance(options.pipeline, str) or options.tuned is not None:
        return ""
    try:
        before, after = run_passes(model, options, options.pipeline)
        known, found = (_evaluate(module, name, args, units) for module in (before, after))
    except Exception:  # what TVM raises here, and what no truth can evaluate
        return ""
    if not known or not found:
        return ""
    return GENERATED if is_same(found, known) else SCHEDULED


def _evaluate(module: Any, name: str, args: Sequence[Argument], units: Units) -> list[np.ndarray]:
    """What a function writes, without rounding; [] where no truth is made of it."""
    from ....golden.serial import without_threads
    from ....golden.truth.kernels import KernelTruth
    from ...tvm_bridge.versions import import_tvm

    functions = {var: func for var, func in module.functions_items() if str(var.name_hint) == name}
    truth = KernelTruth(without_threads(import_tvm().IRModule(functions)))
    if name not in truth:
        return []
    return [result.value for result in truth.run(name, args, units) if result is not None]
