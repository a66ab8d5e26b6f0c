"""Which of the passes before scheduling changed what a model means: the module after each, evaluated without rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...importers.inputs import Arrays
from ...importers.model import Model
from ...lower.option_records import LowerOptions
from ...tvm_bridge.pass_pipelines import clone

if TYPE_CHECKING:
    from ....golden.truth.units import Units

SAME = 1e-6
"""Of an output's largest value: above what the order of a sum in float64 changes, below what a pass that is wrong does."""


def find_wrong_pass(model: Model, options: LowerOptions, arrays: Arrays, units: Units) -> str:
    """The name of the first pass after which the model computes something else; "" if that is not to be found.

    A pass behind which a module cannot be evaluated is passed over; the name then says "or one just before it".
    """
    if not isinstance(options.pipeline, str):
        return ""
    try:
        stages = _stages(model, options, options.pipeline)
    except Exception:  # what TVM raises here it raised, or did not, when the model was compiled
        return ""
    given = list(arrays.values())
    known = _evaluate(stages[0][1], given, units)
    if known is None:
        return ""
    same: dict[int, bool] = {0: True}
    for number in range(len(stages) - 1, 0, -1):  # the last that can be evaluated
        if (found := _evaluate(stages[number][1], given, units)) is not None:
            same[number] = is_same(found, known)
            break
    low, high = 0, max(same)
    if same[high]:
        return ""
    unknown: set[int] = set()
    while between := sorted(set(range(low + 1, high)) - unknown):
        middle = between[len(between) // 2]
        found = _evaluate(stages[middle][1], given, units)
        if found is None:
            unknown.add(middle)
        elif is_same(found, known):
            low = middle
        else:
            high = middle
    return stages[high][0] + (" or one just before it" if high - low > 1 else "")


def _stages(model: Model, options: LowerOptions, pipeline: str) -> list[tuple[str, Any]]:
    """(name of a pass, the module after it) for each pass up to the first schedule; first the module as imported."""
    from ...passes.base import SCHEDULE, first

    target, module, passes = _begin(model, options, pipeline)
    stages = [("", module)]
    with target:
        for step in passes[: first(passes, SCHEDULE)]:
            changed = step(clone(module))  # some passes write into what they are given
            if not _are_alike(changed, module):
                stages.append((str(step.info.name), clone(changed)))
            module = changed
    return stages


def run_passes(model: Model, options: LowerOptions, pipeline: str) -> tuple[Any, Any]:
    """The module before its first function is scheduled, and the module behind the last schedule."""
    from ...passes.base import SCHEDULE, first

    target, module, passes = _begin(model, options, pipeline)
    start = first(passes, SCHEDULE)
    end = len(passes) - first(passes[::-1], SCHEDULE)
    with target:
        for step in passes[:start]:
            module = step(module)
        before = clone(module)
        for step in passes[start:end]:
            module = step(module)
    return before, module


def _begin(model: Model, options: LowerOptions, pipeline: str) -> tuple[Any, Any, list[Any]]:
    """The target, the module as imported, and the passes that lower it."""
    from ...importers.fp16_storage import with_storage
    from ...lower.pipeline import relax_passes, select_fixes
    from ...lower.targets import make_target
    from ...tvm_bridge.operator_names import with_all_named
    from ...tvm_bridge.pass_pipelines import with_own_constants

    stored = with_storage(model.module, options.storage.dtype, options.storage.accumulate)
    module = with_own_constants(with_all_named(stored))
    target = make_target(options.target)
    with target:
        return target, module, relax_passes(target, select_fixes(pipeline, options.without_fix), scoping=options.scoping)


def _are_alike(one: Any, other: Any) -> bool:
    """Whether two modules have the same functions."""
    functions = [{str(var.name_hint): func for var, func in module.functions_items()} for module in (one, other)]
    return functions[0].keys() == functions[1].keys() and all(
        func.same_as(functions[1][name]) for name, func in functions[0].items()
    )


def _evaluate(module: Any, arrays: Sequence[np.ndarray], units: Units) -> list[np.ndarray] | None:
    """The outputs of `main` without rounding; None if no truth is made of the module."""
    from ....golden.truth.model import ModelTruth

    try:
        truths, _ = ModelTruth(module).run(arrays, units)
    except Exception:  # of a module between two passes, TVM may not take the parts apart either
        return None
    return [np.asarray(truth.value) for truth in truths]


def is_same(found: Sequence[np.ndarray], known: Sequence[np.ndarray]) -> bool:
    """Whether results without rounding mean the same."""
    if [value.shape for value in found] != [value.shape for value in known]:
        return False
    with np.errstate(invalid="ignore"):
        return all(
            bool(np.all((a == b) | (np.abs(a - b) <= SAME * np.nanmax(np.abs(b), initial=0)) | (np.isnan(a) & np.isnan(b))))
            for a, b in zip(found, known, strict=True)
        )
