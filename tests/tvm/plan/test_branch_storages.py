"""Branches: TVM's plan uses storages of the other branch, the fixed pipeline's does not, and the reference runs either way."""

from __future__ import annotations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.compiler.doctor.models import branches
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.passes.branch_storage import split_branch_storages

pytestmark = pytest.mark.tvm

X = np.random.default_rng(2).standard_normal((16, 16)).astype("float32")


@pytest.mark.each_value
@pytest.mark.parametrize("target", ["buffer", "texture"])
@pytest.mark.parametrize("condition", [True, False])
def test_both_ways_of_a_branch_are_right(adreno, target, condition):
    report = adreno_sim.check(branches(), [np.array(condition), X], device=adreno, target=target)
    assert report.ok
    assert not report.findings
    assert report.verdict.endswith("TVM llvm agrees")


def test_the_stock_plan_is_a_finding(adreno):
    report = adreno_sim.check(branches(), [np.array(False), X], device=adreno, target="buffer", pipeline="stock")
    assert report.exit_code == 1
    assert {finding.kind.label for finding in report.findings} == {"storage-used-unallocated"}


def test_what_is_allocated_before_a_branch_stays_shared():
    """And a module without branches stays as it is."""
    text = str(lower(branches(), "buffer").relax["main"])
    stock = str(lower(branches(), "buffer", "stock").relax["main"])
    assert stock.count("alloc_storage") < text.count("alloc_storage") <= text.count("alloc_tensor")
    from adreno_sim.compiler.doctor.models import residual

    module = residual()
    assert split_branch_storages()(module).script() == module.script()
