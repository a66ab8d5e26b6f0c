"""Whether it was a real device that changed what a kernel means: a simulated one runs the same code on the same inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....backends.open import open_device
from ....results.expected import Expected
from ....results.untouched import compare_touched
from ...artifact.model import CompiledModel
from ...run.observer import FunctionCall
from ..second_device import SecondDevice

SIMULATED = "sim:reference"
DEVICE = "a simulated device computes it right from the same code: the device, or the compiler in its driver, changed the meaning"


def find_device_stage(
    model: CompiledModel, call: FunctionCall, before: Sequence[np.ndarray | None], position: int, golden: Expected
) -> str:
    """DEVICE for a result of a real device that a simulated one has right; "" if that is wrong too, or cannot run the call.

    before: the tensor arguments before the call, None for others. position, golden: the wrong argument, and what it should be.
    """
    if call.device.info.profile is not None:
        return ""
    device = SecondDevice(model, open_device(SIMULATED))
    try:
        results = device.results(call, before)
    finally:
        device.close()
    got = None if results is None else results[position]
    if got is None:
        return ""
    return DEVICE if compare_touched(got, golden.reshape(got.shape), before[position]).ok else ""
