"""Who else takes a source that our device refuses: Intel's CPU OpenCL."""

from __future__ import annotations

import re

import oracle

from .source import Source

_NO_SUCH_KERNEL = "INVALID_KERNEL_NAME"
"""What becomes of the launch of a kernel that is not there, in a program that builds."""


def find_verdict(source: Source) -> str:
    """Whether the judge builds a source: "accepts", "refuses: why", or "none: why" where there is no judge."""
    try:
        judge = oracle.open_oracle("intel")
    except oracle.OracleUnavailable as error:
        return f"none: {error}"
    try:
        judge.run(source.text, source.options, "no_such_kernel", (1,), (1,), [])
    except oracle.OracleError as error:
        if _NO_SUCH_KERNEL in str(error):
            return "accepts"
        wrong = re.search(r"error: .*", str(error))
        return f"refuses: {wrong[0] if wrong else str(error).splitlines()[0]}"[:200]
    return "accepts"
