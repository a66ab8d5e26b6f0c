"""Two thousand random kernels, the same each time, on the simulator and on PoCL or Intel's CPU OpenCL."""

from __future__ import annotations

from collections import Counter

import judges
import numpy as np
import oracle
import pytest
from fuzz import simulator
from fuzz.campaign import Report, batches, explain, judge_of, numbered, run_batch
from fuzz.coverage import coverage_text, never_used
from fuzz.judge import judge_cases
from fuzz.judges import fit_judge
from fuzz.shrink import shrink
from fuzz.tree import inside

SEED = 1
KERNELS = 2000
PART = 25


PARTS = [pytest.param(start, marks=[pytest.mark.slow] if start % (40 * PART) else []) for start in range(0, KERNELS, PART)]
"""All kernels in parts of which two run, and all with `--slow`."""


@pytest.mark.parametrize("start", PARTS)
def test_random_kernels_give_what_the_oracles_give(judge, intel, start, request):
    report = Report()
    for numbers in batches(start, PART):
        report.add(run_batch(SEED, numbers))
    print(f"seed {SEED}: {PART} kernels from {start}, {len(report.failures)} failures, judged by {dict(report.judged_by)}")
    assert not report.failures, "\n\n".join(report.failures)
    assert sum(report.judged_by.values()) + report.left_out == PART
    assert report.left_out < PART / 2
    judges.leave_out(request.node, report.left_out, f"of {KERNELS} random kernels, which who stands in for PoCL gets wrong")


def test_the_kernels_contain_every_construct():
    used: Counter[str] = Counter()
    for number in range(KERNELS):
        used.update(numbered(SEED, number).used)
    print(coverage_text(used))
    assert not never_used(used)


def test_the_same_number_is_the_same_kernel():
    first, again, other = numbered(SEED, 17), numbered(SEED, 17), numbered(SEED, 18)
    assert first.build().text == again.build().text != other.build().text
    for one, two in zip(first.build().args, again.build().args, strict=True):
        if isinstance(one, oracle.Buffer) and isinstance(two, oracle.Buffer):
            np.testing.assert_array_equal(one.array, two.array)


@pytest.mark.parametrize("seed", range(SEED, SEED + 8))
def test_a_failing_kernel_is_cut_down(seed):
    case = next(case for number in range(500) if "sqrt(" in (case := numbered(seed, number)).build().text)
    small = shrink(case, lambda smaller: "sqrt(" in smaller.build().text)
    text = small.build().text
    assert "sqrt(" in text
    assert len(text) < len(case.build().text)
    assert sum(1 for _ in inside(small.body)) <= 6


def test_a_wrong_result_is_found_and_explained(judge, intel, monkeypatch):
    """The judge on a simulator that gets one bit of one result wrong."""
    texts = (numbered(SEED, n).build().text for n in range(500))  # a sub-group's id would make all its results wrong
    number = next(n for n, text in enumerate(texts) if "out_int[" in text and "sub_group" not in text)
    case, fit = numbered(SEED, number), fit_judge(judge_of(SEED, number))
    assert not judge_cases([case], fit)
    honest = simulator.run

    def off_by_one_bit(kernel, case, built, checks):
        result = honest(kernel, case, built, checks)
        names = [name for name, arg in zip(built.names, built.args, strict=True) if getattr(arg, "output", False)]
        if "out_int" in names:
            result.outputs[names.index("out_int")][0] ^= 1
        return result

    monkeypatch.setattr(simulator, "run", off_by_one_bit)
    (failure,) = judge_cases([case], fit)
    assert failure.sort == "mismatch"
    text = explain(failure, fit, shrunk=True)
    assert f"kernel {SEED}/{number} ({fit.asked}): mismatch" in text
    assert "1 of " in text
    assert "kernel void" in text
    assert len(text) < len(explain(failure, fit, shrunk=False))
