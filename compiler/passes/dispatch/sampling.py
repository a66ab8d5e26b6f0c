"""sampling: samples of a distribution get TVM's kernel for GPUs.

TVM's pipelines for other GPUs run DispatchSampling, which gives `multinomial_from_uniform` a kernel. The Adreno pipeline does
not, and nothing else lowers the operator. 0.25 to 0.27; fixed in 0.27, where the race of the kernel is too (`neighbour-read`).
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
    return [dispatch(import_tvm().relax.backend.DispatchSampling(), "DispatchSamples"), *passes]


FIX = Fix(
    name="sampling",
    versions=("0.27",),
    summary="samples of a distribution are dispatched to a kernel, as on other GPUs",
    relax=dispatch_first,
)
