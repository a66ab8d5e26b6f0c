"""Judges a case: what the device computes against ONNX's evaluator in float64, and what `check` says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator

import adreno_sim
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.run import vm

from .cases import Case

TOLERANCE = {"float32": 2e-4, "float16": 5e-2}
"""Of the largest value of an output: far above rounding, far below what a wrong kernel is off by."""


FAILURES = ("wrong", "missed", "false alarm", "error")


@dataclass(frozen=True)
class Judgement:
    """kind: "right", "wrong" (`check` says so too), "missed" (`check` says ok), "false alarm", "refused", "not judged" (float64
    has no finite value), "error". why: of all but "right"."""

    case: Case
    kind: str
    why: str = ""

    @property
    def is_failure(self) -> bool:
        return self.kind in FAILURES

    def __str__(self) -> str:
        case = self.case
        return f"{self.kind}: {case.seed}/{case.number} {case.target} {case.dtype} {case.said}: {self.why}"


def judge(case: Case, device: Any) -> Judgement:
    """The judgement of a case on a device."""
    with np.errstate(all="ignore"):
        (expected,) = ReferenceEvaluator(case.wide).run(None, {name: value.astype("f8") for name, value in case.inputs.items()})
    expected = np.asarray(expected, np.float64)
    if not np.isfinite(expected).all() or np.abs(expected).max(initial=0) > 3e4:
        return Judgement(case, "not judged", "float64 has no finite value, or one beyond half")
    try:
        compiled = compile_model(case.model, target=case.target)
        (got,) = vm.run(compiled, list(case.inputs.values()), device)
        report = adreno_sim.check(case.model, case.inputs, device=device, target=case.target)
    except UnsupportedError as error:
        return Judgement(case, "refused", str(error).splitlines()[0])
    except Exception as error:
        return Judgement(case, "error", f"{type(error).__name__}: {error}".splitlines()[0])
    off = _difference(got, expected, TOLERANCE[case.dtype])
    errors = [str(finding.message) for finding in report.findings if finding.severity.name == "ERROR"]
    if off:
        return Judgement(case, "wrong" if errors else "missed", off)
    return Judgement(case, "false alarm", errors[0]) if errors else Judgement(case, "right")


def _difference(got: np.ndarray, expected: np.ndarray, tolerance: float) -> str:
    """How the result differs from what is expected; "" where it does not."""
    if got.shape != expected.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    off = np.abs(got.astype(np.float64) - expected)
    most = tolerance * max(1.0, float(np.abs(expected).max(initial=0)))
    wrong = ~(off <= most)
    return f"{int(wrong.sum())} of {wrong.size} elements are off by up to {off.max(initial=0):.3g}" if wrong.any() else ""
