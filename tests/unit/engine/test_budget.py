"""Budgets count steps: the same kernel gives up at the same place, however fast the machine is."""

from __future__ import annotations

import pytest

from adreno_sim.engine.analysis.budget import Budget, OverBudget


def test_steps_run_out():
    budget = Budget("sums", 5, 5)
    for _ in range(5):
        budget.spend()
    with pytest.raises(OverBudget, match="sums: given up after 5 steps"):
        budget.spend()
    assert budget.used_up


def test_a_share_leaves_the_rest():
    budget = Budget("sums", 8, 8)
    with pytest.raises(OverBudget), budget.share(4):
        budget.spend(2)
        budget.spend()
    assert budget.left == 6
    assert not budget.used_up


def test_a_share_that_is_not_used_is_kept():
    budget = Budget("sums", 8, 8)
    with budget.share(4):
        budget.spend()
    assert budget.left == 7
