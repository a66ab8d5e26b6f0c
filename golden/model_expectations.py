"""What the outputs of a model should be, and how far rounding may take them, and those of another implementation, from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import UnsupportedError
from ..results.expected import Expected, round_off
from .errors import StrayAccessError
from .truth.bound import expect
from .truth.model import ModelTruth
from .truth.run import OutOfRange
from .truth.units import Units
from .truth.value import Unmodelled

if TYPE_CHECKING:
    from tvm import IRModule

NAME = "float64"
"""What reports call the reference that rounds nothing."""

Outputs = Sequence[np.ndarray | Expected]


def computes_halves(imported: IRModule) -> bool:
    """Whether a module holds a float16 anywhere."""
    return 'float16"' in imported.script(show_meta=False)


def expect_outputs(
    imported: IRModule, inputs: Sequence[np.ndarray], units: Units, places: Sequence[np.ndarray] = ()
) -> list[Expected]:
    """The outputs of `main` without rounding, with the error that rounding allows. places: as of `ModelTruth.run`. Raises
    Unmodelled, and as `run_program`."""
    truths, dtypes = ModelTruth(imported).run(inputs, units, places=places)
    return [expect(truth, dtype, units) for truth, dtype in zip(truths, dtypes, strict=True)]


def judge_by_truth(
    stored: IRModule,
    imported: IRModule,
    inputs: Sequence[np.ndarray],
    references: Mapping[str, Sequence[np.ndarray]],
    unchecked: list[str],
    units: Units,
    errors: Mapping[str, Mapping[int, tuple[str, np.ndarray]]] | None = None,
    places: Sequence[np.ndarray] = (),
) -> Mapping[str, Outputs]:
    """`references` of a model: the truth beside them, and for each what two right results may differ by.

    stored: the model as it is run; imported: as the references ran it, which may be before its tensors were made halves. Another
    runtime rounds too, so it may be as far off as the device. Where no truth is made, nothing says how far, and `unchecked`
    names the reason. errors: {reference: {output: (operator, error)}} where a reference's own last operator is known to be off;
    what goes beyond the rounding of its result is allowed too, and `unchecked` says so. places: of the device, as of
    `ModelTruth.run`; the references have orders of their own.
    """
    try:
        truth = expect_outputs(stored, inputs, units, places)
        other = truth if imported is stored and not places else expect_outputs(imported, inputs, units)
    except (Unmodelled, UnsupportedError, StrayAccessError, OutOfRange) as error:
        line = f"outputs: how far rounding may take them is not known: {_explain(error)}"
        unchecked += [] if line in unchecked else [line]
        return {}
    judged: dict[str, list[Expected]] = {NAME: truth}
    for name, outputs in references.items():
        judged[name] = [_between(*found) for found in zip(outputs, other, truth, strict=True)]
        for number, (operator, own) in (errors or {}).get(name, {}).items():
            judged[name][number], excess = _widened(judged[name][number], own)
            if excess:
                off = f"by which {name}'s {operator} is off from its definition"
                unchecked.append(f"output {number} against {name}: closer than {excess:.2g}, {off}")
    return judged


def _explain(error: Exception) -> str:
    """Why there is no truth. A function that has no meaning on these inputs is the finding of its kernel."""
    if isinstance(error, Unmodelled):
        return f"no truth is made of {error}"
    return f"their truth is too large: {error}" if isinstance(error, UnsupportedError) else str(error)


def _widened(expected: Expected, error: np.ndarray) -> tuple[Expected, float]:
    """A reference's output with its own proven error allowed where that is more than rounding of the result; the largest."""
    own = np.where(error > 2 * round_off(expected.array.astype(np.float64), expected.array.dtype), error, 0.0)
    if expected.allowed is None or not own.any():
        return expected, 0.0
    return replace(expected, allowed=expected.allowed + own), float(own.max())


def _between(output: np.ndarray, other: Expected, truth: Expected) -> Expected:
    """A reference's output: as far off from the truth of its own model as that allows, as the device is from that of its own."""
    errors = [found.allowed for found in (truth, other) if found.allowed is not None]
    others = None if truth.others is None else np.concatenate([truth.array[None], truth.others])
    if not errors:
        return Expected(output, None, None, truth.unsure, others)
    exact, theirs = (found.array.astype(np.float64) if found.value is None else found.value for found in (truth, other))
    with np.errstate(invalid="ignore"):
        apart = np.where(exact == theirs, 0.0, np.abs(exact - theirs))
    allowed = sum(errors, np.nan_to_num(apart, nan=0.0, posinf=np.inf))
    return Expected(output, None, allowed, max(truth.unsure, other.unsure), others)
