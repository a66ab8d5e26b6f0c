"""What the arguments of a launch hold before and after it: NaN and infinity that occur, and elements that nobody wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ..device.inspection import find_inspectable
from ..device.protocol import Device, Kernel
from ..findings import Finding
from ..results.launch_births import Birth, explain_births, find_birth_in_launch, kinds_in
from ..results.launch_report import Coverage
from ..results.listing.ranges import describe_ranges
from ..results.untouched import element_bits
from .bind import BoundArguments, elements, parameter_name
from .model import BufferArgument, ImageArgument, LaunchSpec

MOST_BYTES = 64 << 20
"""Larger arguments are not examined: they would be in the host's memory twice more."""


class LaunchContents:
    """Made before the launch, whose written arguments it reads. A real device shows neither the constants in its kernel's code
    nor the contents of memory that nobody wrote: it gets no findings. left_out: names of arguments that are too large.
    """

    def __init__(self, device: Device, spec: LaunchSpec, kernel: Kernel, bound: BoundArguments):
        self._spec, self._kernel, self._bound = spec, kernel, bound
        inspectable = find_inspectable(device)
        written = [index for index in bound.views if kernel.writes(index)] if inspectable else []
        looked_at = [index for index in written if self._nbytes(index) <= MOST_BYTES]
        self.left_out = [self._name(index) for index in written if index not in looked_at]
        self._meant = inspectable.nonfinite_constants(kernel) if inspectable else ()
        self._before = bound.read(looked_at)
        self._after = self._before

    def look(self) -> None:
        """The launch has run."""
        self._after = self._bound.read(list(self._before))

    def find_births(self, findings: Iterable[Finding]) -> Iterator[tuple[int, Birth]]:
        """The arguments in which NaN or infinity came up in a launch with `findings`, by position."""
        if explain_births(findings):
            return
        given: set[str] | None = None
        for index, after in self._after.items():
            if after.dtype.kind != "f" or np.isfinite(after).all():
                continue
            given = self._kinds_given() if given is None else given
            changed = element_bits(after) != element_bits(self._before[index])
            birth = find_birth_in_launch(self._name(index), self._kernel.name, after, changed, given, self._meant)
            if birth is not None:
                yield index, birth

    def find_coverage(self) -> Iterator[Coverage]:
        """Arguments that nothing was written to before the launch, and that were not written whole in it. Until then a
        simulated device's memory holds a pattern that no kernel computes, but it may copy it from one that nobody filled."""
        if any(not self._is_filled(index) and not self._kernel.writes(index) for index in self._bound.views):
            return
        for index, after in self._after.items():
            argument = self._argument(index)
            if self._is_filled(index) or argument.place.storage:
                continue
            unwritten = (element_bits(after) == element_bits(self._before[index])).reshape(-1)
            if unwritten.any():
                where = describe_ranges("element", unwritten)
                yield Coverage(self._name(index), unwritten.size, int(unwritten.sum()), where)

    def _kinds_given(self) -> set[str]:
        """What the launch may have read: what was there before it, except for memory that nothing was written to."""
        held = [index for index in self._bound.views if self._is_filled(index) and self._dtype(index).kind == "f"]
        only_read = self._bound.read([index for index in held if not self._kernel.writes(index)])
        before = [self._before[index] for index in held if index in self._before]
        values = [np.asarray(value) for value in self._bound.values if isinstance(value, (np.ndarray, np.generic))]
        return kinds_in([*only_read.values(), *before, *values])

    def _argument(self, index: int) -> BufferArgument | ImageArgument:
        argument = self._spec.arguments[index]
        assert isinstance(argument, (BufferArgument, ImageArgument))
        return argument

    def _dtype(self, index: int) -> np.dtype:
        return np.dtype(elements(self._argument(index))[0])

    def _nbytes(self, index: int) -> int:
        dtype, count = elements(self._argument(index))
        return count * np.dtype(dtype).itemsize

    def _is_filled(self, index: int) -> bool:
        return self._argument(index).data.fill != "unwritten"

    def _name(self, index: int) -> str:
        return parameter_name(self._spec, self._kernel.params, index)
