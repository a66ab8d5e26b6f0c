"""Before a result is called wrong: does its error go away in wider types, as rounding does and a defect does not?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...base.errors import AdrenoSimError
from ...results.comparison import Comparison
from ...results.expected import Expected
from ..run.observer import FunctionCall
from .twin import Arrays, WideTwin


@dataclass(frozen=True)
class Ruling:
    """On one result that is further off than expected. is_rounding: by nothing but rounding. note: what its twin says, to append
    to a finding; "" where there is nothing to say."""

    is_rounding: bool
    note: str = ""


def appeal(
    twin: WideTwin,
    call: FunctionCall,
    before: Arrays,
    golden: Sequence[Expected | None],
    got: Mapping[int, np.ndarray],
    wrong: Sequence[int],
) -> tuple[dict[int, Ruling], dict[int, Comparison]]:
    """A ruling on each of the positions `wrong`, and what the twin was told of all results.

    before, golden: the arguments before the call and what they should hold after it; got: its results. A result is acquitted if
    the same text is right in wider types, and if the simulator rounds as much in the types of the call: what a driver alone
    computes wrongly, or what does not come again, is no rounding.
    """
    if not twin.can_judge(call):
        return {}, {}
    told = twin.judge(call, before, golden, wrong)
    if not told:
        reason = twin.reasons.get(call.function.name, "")
        return {i: Ruling(False, f"; not evaluated in wider types: {reason}" if reason else "") for i in wrong}, {}
    wider = twin.describe(call)
    again: Arrays | None = None
    rulings: dict[int, Ruling] = {}
    for position in wrong:
        if position not in told:
            continue
        if not told[position].ok:
            rulings[position] = Ruling(False, f"; still wrong in {wider}: not a rounding error")
            continue
        if again is None:
            try:
                again = twin.run(call, before)
            except AdrenoSimError:
                return rulings, told
        if _rounds_alike(got[position], again[position], golden[position]):
            rulings[position] = Ruling(True)
        else:
            why = f"; right in {wider}, but in its own types {twin.device.info.name} does not round as much"
            rulings[position] = Ruling(False, why)
    return rulings, told


def _rounds_alike(got: np.ndarray, again: np.ndarray | None, golden: Expected | None) -> bool:
    """Whether errors of one run are no larger than those of another run of the same text show it to round."""
    from ...golden.truth.bound import drift_of

    if again is None or golden is None or golden.value is None or golden.allowed is None:
        return False
    shape = golden.value.shape
    with np.errstate(invalid="ignore"):
        mine, other = (array.astype(np.float64).reshape(shape) - golden.value for array in (got, again))
        same = got.reshape(shape) == golden.array
        may = np.maximum(drift_of(other, golden.value, golden.allowed), golden.allowed)
        return bool((same | (np.abs(mine) <= may)).all())
