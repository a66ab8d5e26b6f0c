"""Random kernels against the interpreter: findings, and in the output each undefined bit and each number."""

from __future__ import annotations

import pytest
from processors import SMALLER

from adreno_sim.engine.llvm import objects
from adreno_sim.engine.run import compiled_kernel

from . import compare

PROCESSORS = {"this": None, **{cpu: (cpu, features) for cpu, features in SMALLER}}


def find_differences(first: int, count: int, emitter: str = "spmd") -> list[str]:
    return [f"seed {seed}: {what}" for seed in range(first, first + count) if (what := compare.find_difference(seed, emitter))]


@pytest.mark.parametrize(("cpu", "first"), [(cpu, 25 * number) for number, cpu in enumerate(PROCESSORS)])
def test_what_is_undefined_is_what_the_interpreter_knows(cpu, first, monkeypatch):
    if PROCESSORS[cpu] is not None:
        monkeypatch.setattr(objects, "_machine", objects.Machine(*PROCESSORS[cpu]))
        monkeypatch.setattr(compiled_kernel, "_compiled", type(compiled_kernel._compiled)())
    assert find_differences(first, 10) == []


def test_one_work_item_after_the_other(monkeypatch):
    assert find_differences(75, 10, "scalar") == []


def test_a_choice_of_constants_that_a_defined_bit_decides():
    """Its condition is undefined in part: given[(me + 5) & 15] | me."""
    assert find_differences(20076, 1) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(50))
def test_the_campaign(block):
    assert find_differences(1000 + 100 * block, 100) == []
