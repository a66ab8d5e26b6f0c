"""What arguments should hold after a launch: its [[output]] tables, and what the function of `expected` returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import AdrenoSimError
from ..device.protocol import KernelParam
from . import scalars
from .bind import Arrays, elements, parameter_name
from .model import BufferArgument, ImageArgument, LaunchSpec, ScalarArgument
from .reference import compute_expected


@dataclass(frozen=True)
class WantedOutput:
    """What argument `argument` (its position) should hold: a flat array of its dtype. tolerance: as of OutputSpec."""

    argument: int
    array: np.ndarray
    tolerance: float | None


def find_wanted(
    spec: LaunchSpec, params: Sequence[KernelParam], values: Sequence[Any], before: Arrays, written: Sequence[int]
) -> list[WantedOutput]:
    """Every output that the launch file expects, in the order of the file.

    values: the arguments as the device has them. before: contents before the launch, which only a function needs. written:
    positions of what the kernel may write. Raises AdrenoSimError if data or a function's results do not fit.
    """
    found: list[WantedOutput] = []
    for output in spec.outputs:
        argument = spec.arguments[output.argument]
        assert isinstance(argument, (BufferArgument, ImageArgument))
        array = output.data.array(*elements(argument))
        assert array is not None
        found.append(WantedOutput(output.argument, array, output.tolerance))
    return [*found, *_computed(spec, params, values, before, written, {output.argument for output in found})]


def _computed(
    spec: LaunchSpec,
    params: Sequence[KernelParam],
    values: Sequence[Any],
    before: Arrays,
    written: Sequence[int],
    listed: set[int],
) -> list[WantedOutput]:
    reference = spec.reference
    if reference is None:
        return []
    positions = {parameter_name(spec, params, index): index for index in written}
    inputs = _inputs(spec, params, values, before)
    computed = compute_expected(reference, inputs, {name: before[index] for name, index in positions.items()})
    for name in computed:
        if positions[name] in listed:
            raise AdrenoSimError(f"{reference.where}: {reference.function} returned {name}, which has an [[output]] too")
    return [WantedOutput(positions[name], array, reference.tolerance) for name, array in computed.items()]


def _inputs(spec: LaunchSpec, params: Sequence[KernelParam], values: Sequence[Any], before: Arrays) -> dict[str, Any]:
    """What a reference may ask for: [values], numbers, and arrays that hold something before the launch; copies, by name."""
    found: dict[str, Any] = dict(spec.values)
    for index, argument in enumerate(spec.arguments):
        name = parameter_name(spec, params, index)
        if isinstance(argument, ScalarArgument):
            shape = scalars.shape_of(argument.type or params[index].spelled)
            found[name] = values[index][:3] if shape is not None and shape[1] == 3 else values[index]
        elif index in before and isinstance(argument, (BufferArgument, ImageArgument)) and argument.data.fill != "unwritten":
            found[name] = before[index].copy()
    return found
