"""infinite-fill: a tensor filled with an infinity or NaN becomes a broadcast (`tvm_bridge/infinite_fills.py`).

topi.full looks for the word "float" in the type of such a value, which is a PrimType in TVM 0.27: `TypeError: argument of type
'PrimType' is not iterable`, from FoldConstant and LegalizeOps. So no causal mask compiles that is written
`full((n, n), -inf).triu(1)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tvm_bridge.infinite_fills import broadcast_fills
from .base import Fix

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def add(passes: list[Pass], _target: Target) -> list[Pass]:
    """Run first: folding constants, and what follows it, meets such fills."""
    return [broadcast_fills(), *passes]


FIX = Fix(
    name="infinite-fill",
    versions=("0.27",),
    summary="tensors filled with an infinity, as of causal masks, compile",
    relax=add,
)
