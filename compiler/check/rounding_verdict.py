"""Before a result is called wrong: does its error go away in wider types, as rounding does and a defect does not?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...base.errors import AdrenoSimError
from ...records import dataclass
from ...results.comparison import Comparison
from ...results.expected import Expected
from ..run.observer import FunctionCall
from .wide_precision_rerun import Arrays, WidePrecisionRerun


@dataclass(frozen=True)
class RoundingVerdict:
    """On one result with a larger error than expected. is_rounding: only from rounding. note: what its rerun says, to append
    to a finding; "" if there is nothing to say."""

    is_rounding: bool
    note: str = ""


def tell_rounding_from_defect(
    rerun: WidePrecisionRerun,
    call: FunctionCall,
    before: Arrays,
    golden: Sequence[Expected | None],
    got: Mapping[int, np.ndarray],
    wrong: Sequence[int],
) -> tuple[dict[int, RoundingVerdict], dict[int, Comparison]]:
    """A verdict on each of the positions `wrong`, and what the rerun was given for all results.

    before, golden: the arguments before the call and what they should hold after it; got: its results. A result is acquitted if
    the same text is right in wider types, and if the simulator rounds as much in the types of the call: a result that a
    driver alone computes wrongly, or that is different the next time, is not rounding.
    """
    if not rerun.can_judge(call):
        return {}, {}
    told = rerun.judge(call, before, golden, wrong)
    if not told:
        reason = rerun.reasons.get(call.function.name, "")
        return {i: RoundingVerdict(False, f"; not evaluated in wider types: {reason}" if reason else "") for i in wrong}, {}
    wider = rerun.describe(call)
    again: Arrays | None = None
    verdicts: dict[int, RoundingVerdict] = {}
    for position in wrong:
        if position not in told:
            continue
        if not told[position].ok:
            verdicts[position] = RoundingVerdict(False, f"; still wrong in {wider}: not a rounding error")
            continue
        if again is None:
            try:
                again = rerun.run(call, before)
            except AdrenoSimError:
                return verdicts, told
        if _rounds_alike(got[position], again[position], golden[position]):
            verdicts[position] = RoundingVerdict(True)
        else:
            why = f"; right in {wider}, but in its own types {rerun.device.info.name} does not round as much"
            verdicts[position] = RoundingVerdict(False, why)
    return verdicts, told


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
