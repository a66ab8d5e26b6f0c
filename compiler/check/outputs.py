"""The outputs of a whole model against references that saw none of the passes for the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...findings import Finding, Kind
from ...results.comparison import compare, tolerated
from ...results.expected import Expected
from ...results.model import OutputReport

Golden = Mapping[str, Sequence[np.ndarray | Expected]]
"""Outputs of a whole model by the reference that gave them."""


def judge_outputs(
    references: Golden,
    names: Sequence[str],
    got: Sequence[np.ndarray],
    kernels_agree: bool,
    bound: float | None = None,
    rounding: Sequence[str] = (),
    truth: Callable[[], Golden] | None = None,
) -> tuple[list[OutputReport], list[Finding]]:
    """The outputs against every reference. truth: the same references, computed only if an output is wrong: they know how far
    rounding may take it beyond what the type allows; None where a kernel is wrong. The rest as `compare_outputs`."""

    def compare_all(golden: Golden) -> tuple[list[OutputReport], list[Finding]]:
        found = [compare_outputs(name, names, got, outputs, kernels_agree, bound, rounding) for name, outputs in golden.items()]
        return [row for rows, _ in found for row in rows], [finding for _, findings in found for finding in findings]

    reports, findings = compare_all(references)
    if truth is None or all(row.ok for row in reports) or not (known := truth()):
        return reports, findings
    usual = {(row.output, row.reference): row for row in reports}
    reports, findings = compare_all({name: list(map(_no_stricter, outputs)) for name, outputs in known.items()})
    for row in reports:
        before = usual.get((row.output, row.reference))
        if row.ok and before is not None and not before.ok:
            message = (
                f"{row.output} is off from {row.reference} by {row.max_abs:.3g} at {list(row.worst_index)} (rms {row.rms:.3g}): "
                "more than is usual for its type, and no more than rounding may take it there"
            )
            findings.append(Finding(Kind.LARGE_ROUNDING, message, tensor=row.output))
    return reports, findings


def count_open(references: Golden) -> int:
    """Elements of the outputs of which the reference that says the least of them says nothing."""
    allowed = [
        [x.allowed for x in outputs if isinstance(x, Expected) and x.allowed is not None] for outputs in references.values()
    ]
    return max((sum(int(np.isinf(array).sum()) for array in arrays) for arrays in allowed), default=0)


def _no_stricter(known: np.ndarray | Expected) -> np.ndarray | Expected:
    """What an appeal allows: at least what the type does, by which every element was judged first."""
    if not isinstance(known, Expected) or known.allowed is None:
        return known
    return replace(known, allowed=np.maximum(known.allowed, tolerated(known.array)))


def compare_outputs(
    reference: str,
    names: Sequence[str],
    got: Sequence[np.ndarray],
    golden: Sequence[np.ndarray | Expected],
    kernels_agree: bool,
    bound: float | None = None,
    rounding: Sequence[str] = (),
) -> tuple[list[OutputReport], list[Finding]]:
    """Each output against `golden`, in order. kernels_agree: every kernel computed what its PrimFunc says.

    bound: relative tolerance in place of the element type's. rounding: kernels that round more than their PrimFuncs; if every
    kernel agrees but for that, so may the outputs, and a difference is a warning.
    """
    reports: list[OutputReport] = []
    findings: list[Finding] = []
    if len(got) != len(golden):
        message = f"{reference} gives {len(golden)} outputs, the compiled model {len(got)}"
        return reports, [Finding(Kind.WRONG_VALUE, message)]
    for name, mine, known in zip(names, got, golden, strict=True):
        expected = known.array if isinstance(known, Expected) else known
        if mine.shape != expected.shape or mine.dtype != expected.dtype:
            shapes = f"{expected.dtype}{list(expected.shape)} from {reference}, {mine.dtype}{list(mine.shape)} from the model"
            findings.append(Finding(Kind.WRONG_VALUE, f"{name}: {shapes}", tensor=name))
            continue
        result = compare(mine, known, bound)
        worst = (result.max_abs, result.max_ulp, result.worst, result.rms)
        reports.append(OutputReport(name, reference, result.ok, result.uninformative, *worst))
        if not result.ok:
            kind, why = Kind.WRONG_VALUE, ""
            if kernels_agree and rounding:
                kind = Kind.LARGE_ROUNDING
                why = f"; every kernel agrees but for rounding, which is large in {', '.join(rounding)}"
            elif kernels_agree:
                why = "; every kernel computes what its PrimFunc says, so a pass before scheduling changed the meaning"
            findings.append(Finding(kind, f"{name} differs from {reference}: {result}{why}", tensor=name))
        elif result.uninformative:
            findings.append(Finding(Kind.UNINFORMATIVE, f"{name} against {reference}: {result.uninformative}", tensor=name))
    return reports, findings
