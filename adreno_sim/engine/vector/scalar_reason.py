"""Which kernels the SPMD emitter is used for."""

from __future__ import annotations

from ...ir import ir
from ..abi.specialization import Specialisation


def refusal(kernel: ir.Function, key: Specialisation) -> str:
    """Why a kernel is not run in vectors although it might be; empty if it is. Level full has sticky code in vectors alone."""
    if key.watch:
        return "a watch on stores"
    if key.checks != "off" and not key.sticky:
        return "code that reports, work-item by work-item"
    return ""
