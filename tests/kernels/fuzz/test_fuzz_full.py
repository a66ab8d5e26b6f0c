"""Random kernels at level full: they are defined, so there is nothing to find, and the order of turns changes no bit."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz import simulator
from fuzz.campaign import judge_of, numbered
from fuzz.judge import program, same

SEED = 1
PART = 8


@pytest.mark.parametrize("start", [0, 600, 1200, 1800])
def test_nothing_is_found_and_no_bit_differs(start: int) -> None:
    wrong = [text for number in range(start, start + PART) if (text := difference(number))]
    assert not wrong, "\n".join(wrong)


def difference(number: int) -> str:
    """What level full says of a kernel, or does otherwise than level bounds; empty if nothing."""
    case, judge = numbered(SEED, number), judge_of(SEED, number)
    built = case.build()
    source = program([built.text], judge.half)
    results = []
    for checks in ("bounds", "full"):
        kernel = simulator.device(checks).build(source, judge.options)[case.name]
        results.append(simulator.run(kernel, case, built, checks))
    plain, full = results
    if full.findings:
        return f"kernel {SEED}/{number}: {full.findings[:3]}"
    differ = [i for i, (a, b) in enumerate(zip(plain.outputs, full.outputs, strict=True)) if not np.all(same(a, b))]
    return f"kernel {SEED}/{number}: outputs {differ} differ" if differ else ""


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 2000, 100))
def test_nothing_is_found_in_any_of_them(start: int) -> None:
    wrong = [text for number in range(start, start + 100) if (text := difference(number))]
    assert not wrong, "\n".join(wrong)
