"""What arguments should hold after a launch: its [[output]] tables, and what the function of `expected` returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.errors import AdrenoSimError
from ..device.protocol import KernelParam
from ..records import dataclass
from ..results.comparison import Comparison, compare, find_wrong
from ..results.expected import Expected
from . import scalars
from .bind import Arrays, elements, parameter_name
from .model import BufferArgument, ImageArgument, LaunchSpec, OutputSpec, ScalarArgument
from .reference import compute_expected


@dataclass(frozen=True)
class WantedOutput:
    """What argument `argument` (its position) should hold: a flat array of its dtype. The others as of OutputSpec."""

    argument: int
    array: np.ndarray
    tolerance: float | None
    shape: tuple[int, ...] = ()
    element: tuple[int, ...] = ()

    def compare(self, got: np.ndarray) -> tuple[Comparison, int]:
        """Compare a flat array with it. Returns what was found, whose worst element is named by the shape, and the place of that
        element in the array."""
        result = compare(got, self.array, self.tolerance)
        place = result.worst[0] if result.worst else 0
        named = int(np.ravel_multi_index(self.element, self.shape or (got.size,))) if self.element else place
        if named != place and find_wrong(got, Expected(self.array), self.tolerance)[named]:
            place = named
            result = replace(result, worst=(place,), got=float(got[place]), golden=float(self.array[place]))
        if self.shape and result.worst:
            result = replace(result, worst=tuple(int(at) for at in np.unravel_index(place, self.shape)))
        return result, place


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
        _require_size(output, array.size)
        found.append(WantedOutput(output.argument, array, output.tolerance, output.shape, output.element))
    return [*found, *_computed(spec, params, values, before, written, {output.argument for output in found})]


def _require_size(output: OutputSpec, count: int) -> None:
    """Raise AdrenoSimError if shape or element of an output are not those of an argument with `count` elements."""
    if output.shape and math.prod(output.shape) != count:
        raise AdrenoSimError(
            f"output of argument {output.argument}: shape {list(output.shape)}: the argument has {count} elements"
        )
    if output.element and not output.shape and output.element[0] >= count:
        raise AdrenoSimError(
            f"output of argument {output.argument}: element {output.element[0]}: the argument has {count} elements"
        )


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
