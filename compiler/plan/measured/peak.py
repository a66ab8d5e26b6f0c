"""A run of a model under a plan, for the memory that it takes on the device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....device.protocol import Device
from ...artifact.model import CompiledModel, TensorInfo
from ...run.vm import VirtualMachine
from ..allocation import Allocation
from ..apply import apply
from ..replan import AS_COMPILED
from ..rules import DeviceRules


def measure_peak(
    model: CompiledModel,
    allocation: Allocation,
    rules: DeviceRules,
    device: Device,
    inputs: Sequence[np.ndarray] | None = None,
) -> int:
    """The most bytes of device memory in use at one time while `model` runs once on `device`, which is fresh, in whole pages.

    inputs: None = zeros, or the least integers that the model takes; they decide which side of a branch is measured. Raises as
    `apply` does, and what a run raises.
    """
    placed = place(model, allocation, rules)
    with VirtualMachine(placed, device) as machine:
        machine.run(inputs if inputs is not None else make_inputs(placed))
        return device.pool_stats().peak_used


def place(model: CompiledModel, allocation: Allocation, rules: DeviceRules) -> CompiledModel:
    """The model as it runs under a plan. Raises as `apply`."""
    return model if allocation.planner == AS_COMPILED else apply(model, allocation, rules)


def make_inputs(model: CompiledModel) -> list[np.ndarray]:
    """Zeros, or the least integers that the model takes."""
    return [_make_input(info) for info in model.inputs]


def _make_input(info: TensorInfo) -> np.ndarray:
    shape = tuple(int(size) for size in info.shape)
    return np.full(shape, info.bounds[0] if info.bounds else 0, info.dtype)
