"""Decides which kernels the vector emitter is used for."""

from __future__ import annotations

from ..abi.specialization import Specialization


def scalar_reason(spec: Specialization) -> str:
    """Returns why a kernel runs in scalar code; "" if it runs in vectors. At level full, code with deferred checks exists in
    vectors only."""
    if spec.watch:
        return "a watch on stores"
    if spec.checks != "off" and not spec.deferred_checks:
        return "code that reports, work-item by work-item"
    return ""
