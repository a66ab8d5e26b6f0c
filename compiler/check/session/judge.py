"""The results of one call of a session against a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....findings import Finding
from ....results.model import OutputReport
from ..outputs import Circumstances, compare_outputs


def judge_call(
    function: str,
    step: int,
    reference: str,
    got: Sequence[np.ndarray],
    expected: Sequence[np.ndarray | None],
    circumstances: Circumstances,
) -> tuple[list[OutputReport], list[Finding]]:
    """Each tensor that call `step` gave against the reference's; None if it says nothing."""
    names = [f"{function} (call {step})" + (f", result {i}" if len(got) > 1 else "") for i in range(len(got))]
    known = [(i, array) for i, array in enumerate(expected) if array is not None]
    names, mine, arrays = [names[i] for i, _ in known], [got[i] for i, _ in known], [array for _, array in known]
    rows, findings = compare_outputs(reference, names, mine, arrays, circumstances)
    return rows, [replace(finding, detail={**finding.detail, "call": step, "function": function}) for finding in findings]
