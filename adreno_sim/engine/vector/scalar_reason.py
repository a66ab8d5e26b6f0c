"""Which kernels the SPMD emitter is used for."""

from __future__ import annotations

from ...ir import ir
from ..abi.specialization import Specialization


def scalar_reason(kernel: ir.Function, spec: Specialization) -> str:
    """Why a kernel is not run in vectors although it might be; empty if it is. Level full has sticky code in vectors alone."""
    if spec.watch:
        return "a watch on stores"
    if spec.checks != "off" and not spec.deferred_checks:
        return "code that reports, work-item by work-item"
    return ""
