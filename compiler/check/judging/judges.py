"""Who judges the kernels of a run, and what is found of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ....device.protocol import DeviceInfo
from ....findings import Finding
from ....records import dataclass
from ....results.evidence import Evidence
from ....results.merge import FindingList
from ...artifact.model import CompiledModel
from ...run.observer import FunctionCall
from ..golden import Golden
from ..integer_inputs import IntegerInputs
from ..second_device import SecondDevice
from ..wide_precision_rerun import WidePrecisionRerun

if TYPE_CHECKING:
    from ....golden.expectations import KernelExpectations
    from ....golden.kernel_reference import Argument


@dataclass(frozen=True)
class Judges:
    """golden: what calls should compute; None if nobody knows. second_device: another one, whose results are compared. rerun:
    runs kernels once more in wider types. integer_inputs: runs them once more on inputs that make them exact. gives_places:
    whether the last result of a function is where sorted values come from. wrong_stage: finds which stage changed a function's
    meaning, for the first that is wrong on the run's own inputs.
    """

    golden: Golden | None
    second_device: SecondDevice | None = None
    rerun: WidePrecisionRerun | None = None
    integer_inputs: IntegerInputs | None = None
    gives_places: Callable[[str], bool] | None = None
    wrong_stage: Callable[[str, Sequence[Argument]], str] | None = None


def choose_judges(model: CompiledModel, golden: Golden | None, kernels: KernelExpectations | None, device: DeviceInfo) -> Judges:
    """Who judges `model` on a device. kernels: the references of its kernels, where they run here and now."""
    if kernels is None:
        return Judges(golden)
    rerun, is_real = WidePrecisionRerun(model, kernels), device.profile is None
    return Judges(golden, rerun=rerun, integer_inputs=IntegerInputs(model, kernels, rerun) if is_real else None)


@dataclass(frozen=True)
class Found:
    """What is found of a run's kernels. unchecked: sentences, each once, in order: an analysis of a kernel failed, a call did not
    run on inputs that can tell. evidence: the arrays of wrong results. on_wrong: called for each wrong result with the call, the
    argument's position, the golden array and the finding.
    """

    findings: FindingList = field(default_factory=FindingList)
    unchecked: dict[str, None] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)
    on_wrong: Callable[[FunctionCall, int, np.ndarray, Finding], None] | None = None
