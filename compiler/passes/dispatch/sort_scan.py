"""sort-scan: sorts and scans along an axis get TVM's kernels for GPUs.

TVM's pipelines for other GPUs run DispatchSortScan, which gives `sort`, `argsort`, `topk`, `cumsum`, `cumprod` and `bucketize`
kernels of their own. The Adreno pipeline does not, and nothing else lowers these operators. 0.25 to 0.27; fixed from 0.26 on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...tvm_bridge.versions import import_tvm
from ..base import Fix
from .dispatched import dispatch

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target


def dispatch_first(passes: list[Pass], _target: Target) -> list[Pass]:
    """Ahead of the other passes."""
    return [dispatch(import_tvm().relax.backend.DispatchSortScan(), "DispatchSortsAndScans"), *passes]


FIX = Fix(
    name="sort-scan",
    versions=("0.26", "0.27"),
    summary="sorts and scans are dispatched to kernels, as on other GPUs",
    relax=dispatch_first,
)
