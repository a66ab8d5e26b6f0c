"""Random kernels at level full: they are defined, so there is nothing to find, and the order of turns changes no bit. On memory
that is partly written, vectors and the code of one work-item find the same."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz import simulator
from fuzz.campaign import judge_of, numbered
from fuzz.judge import program, same

import adreno_sim
from adreno_sim.memory.storage import StorageView

SEED = 1
PART = 6


@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.slow) for start in (600, 1200, 1800))])
def test_nothing_is_found_and_no_bit_differs(start: int) -> None:
    wrong = [text for number in range(start, start + PART) if (text := difference(number))]
    assert not wrong, "\n".join(wrong)


def difference(number: int) -> str:
    """What level full says of a kernel, or does otherwise than level bounds; empty if nothing."""
    case, judge = numbered(SEED, number), judge_of(SEED, number)
    built = case.build()
    source = program([built.text], judge)
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


@pytest.mark.parametrize("start", [0, pytest.param(100, marks=pytest.mark.slow), pytest.param(500, marks=pytest.mark.slow)])
def test_random_kernels_on_memory_that_is_partly_written(start: int) -> None:
    wrong = [number for number in range(start, start + (6 if not start else 200)) if not agree(number)]
    assert not wrong


def agree(number: int) -> bool:
    """Whether a random kernel finds and does the same by both emitters where some of its memory was never written."""
    case, judge = numbered(1, number), judge_of(1, number)
    built = case.build()
    results = []
    for emitter in ("scalar", "spmd"):
        device = adreno_sim.open_device("sim:reference", checks="full", cache=False, emitter=emitter, contract="off", timeout=20)
        made = device.build(program([built.text], judge), judge.options)[case.name]
        args = simulator.arguments(device, built.args)
        views = [view for view in args if isinstance(view, StorageView)]
        chance = np.random.RandomState(number)
        for view in views:
            assert view.block.valid is not None
            holes = chance.rand(view.block.valid.size // 4) < chance.choice([0, 0, 0.01, 0.5])
            view.block.valid[: 4 * holes.size] &= ~np.repeat(holes, 4)
            view.block.forget()
        found = device.launch(made, case.global_size, case.features.local_size, args).findings
        results.append((found, [device.read(v).tobytes() for v in views], [v.block.valid.tobytes() for v in views]))
    return results[0] == results[1]
