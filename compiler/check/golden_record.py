"""Run a model on its references alone and write down what every call computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...device.protocol import Device
from ...results.expected import Expected, round_off
from ..artifact.golden import GoldenCall, GoldenData
from ..artifact.model import CompiledModel
from ..run.observer import FunctionCall, Observer
from ..run.values import Tensor
from ..run.vm import VirtualMachine
from .golden import is_result

if TYPE_CHECKING:
    from .golden import Reference


class _Recorder(Observer):
    """Replaces every function that has a reference; the others run on the device."""

    def __init__(self, reference: Reference):
        self.calls: dict[str, GoldenCall] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self._reference = reference

    def replaces_call(self, call: FunctionCall) -> bool:
        if call.function.golden not in self._reference:
            return False
        before = [arg.read() if isinstance(arg, Tensor) else arg for arg in call.args]
        after = self._reference.expect(call.function.golden, before)
        changed = []
        for position, (arg, old, new) in enumerate(zip(call.args, before, after, strict=True)):
            if (
                isinstance(arg, Tensor)
                and isinstance(old, np.ndarray)
                and new is not None
                and is_result(call, position, old, new.array)
            ):
                arg.write(new.array)
                self.arrays |= _members(f"{call.index}/{position}", new.reshape(arg.shape))
                changed.append(position)
        self.calls[str(call.index)] = GoldenCall(call.function.name, tuple(changed))
        return True


def _members(key: str, expected: Expected) -> dict[str, np.ndarray]:
    """The arrays that keep a result: its value as its type has it, what is as right, the largest error in float32 rounded up."""
    found = {key: expected.array} | ({} if expected.others is None else {f"{key}/others": expected.others})
    if expected.allowed is None:
        return found
    allowed = expected.allowed
    if expected.value is not None:
        allowed = allowed + round_off(expected.value, expected.array.dtype)
    with np.errstate(over="ignore"):
        return found | {f"{key}/allowed": np.nextafter(allowed.astype(np.float32), np.float32(np.inf))}


def record(
    model: CompiledModel,
    reference: Reference,
    inputs: Mapping[str, np.ndarray],
    origin: str,
    outputs: Mapping[str, Sequence[np.ndarray | Expected]],
    unchecked: Sequence[str],
    device: Device,
) -> GoldenData:
    """What every call of `model` on `inputs` should compute. outputs: of the whole model, by reference.

    device: holds the tensors, and runs what has no reference.
    """
    recorder = _Recorder(reference)
    with VirtualMachine(model, device, recorder) as machine:
        machine.run(inputs)
    arrays = {f"input/{name}": array for name, array in inputs.items()} | recorder.arrays
    for name, found in outputs.items():
        for number, output in enumerate(found):
            arrays |= _members(f"output/{name}/{number}", output if isinstance(output, Expected) else Expected(output))
    return GoldenData(origin, recorder.calls, tuple(outputs), tuple(unchecked), arrays)
