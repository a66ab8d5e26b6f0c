"""branch-storage: a branch uses no storage that only the other branch allocates (`tvm_bridge.branch_storages`). 0.25 to 0.27."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tvm_bridge.branch_storages import split_branch_storages
from .base import ALL_VERSIONS, Fix, after_first

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def add(passes: list[Pass], _target: Target) -> list[Pass]:
    """Run right after TVM's planner."""
    return after_first(passes, "StaticPlanBlockMemory", split_branch_storages())


FIX = Fix(
    name="branch-storage",
    versions=ALL_VERSIONS,
    summary="a tensor of one branch has no storage that only the other branch allocates",
    relax=add,
)
