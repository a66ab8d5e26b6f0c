"""NaN and infinity that come up in the launch of a launch file: its arguments before and after it tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ..device.inspection import find_inspectable
from ..device.protocol import Device, Kernel
from ..findings import Finding
from ..results.launch_births import Birth, explain_births, find_birth_in_launch, kinds_in
from .bind import Arrays, BoundArguments, elements, parameter_name
from .model import BufferArgument, ImageArgument, LaunchSpec


class LaunchBirths:
    """Made before the launch, whose floats it reads. A real device does not show what stands in its kernel's code: nothing is
    said of one."""

    def __init__(self, device: Device, spec: LaunchSpec, kernel: Kernel, bound: BoundArguments):
        self._spec, self._kernel, self._bound = spec, kernel, bound
        inspectable = find_inspectable(device)
        self._floats = [index for index in bound.views if self._holds_floats(index)] if inspectable else []
        self._written = [index for index in self._floats if kernel.writes(index)]
        self._meant = inspectable.nonfinite_constants(kernel) if inspectable and self._written else ()
        self._before = bound.read(self._written)

    def find(self, findings: Iterable[Finding]) -> Iterator[tuple[int, Birth]]:
        """After the launch, which had `findings`: the arguments in which NaN or infinity came up, by position."""
        if not self._written or explain_births(findings):
            return
        after = self._bound.read(self._written)
        born = [index for index in self._written if not np.isfinite(after[index]).all()]
        given = self._kinds_given() if born else set()
        params = self._kernel.params
        for index in born:
            changed = _bits(after[index]) != _bits(self._before[index])
            name = parameter_name(self._spec, params, index)
            birth = find_birth_in_launch(name, self._kernel.name, after[index], changed, given, self._meant)
            if birth is not None:
                yield index, birth

    def _kinds_given(self) -> set[str]:
        """What the launch may have read: what was there before it, but for memory that nothing was written to."""
        held = [index for index in self._floats if self._is_filled(index)]
        only_read = self._bound.read([index for index in held if index not in self._before])
        arrays: Arrays = {**only_read, **self._before}
        values = [np.asarray(value) for value in self._bound.values if isinstance(value, (np.ndarray, np.generic))]
        return kinds_in([*(arrays[index] for index in held), *values])

    def _holds_floats(self, index: int) -> bool:
        argument = self._spec.arguments[index]
        assert isinstance(argument, (BufferArgument, ImageArgument))
        return np.dtype(elements(argument)[0]).kind == "f"

    def _is_filled(self, index: int) -> bool:
        argument = self._spec.arguments[index]
        assert isinstance(argument, (BufferArgument, ImageArgument))
        return argument.data.fill != "unwritten"


def _bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
