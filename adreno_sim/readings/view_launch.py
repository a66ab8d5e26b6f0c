"""A launch over views of a device's memory, run again on other devices from copies of what these hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..backends.sim.program import SimKernel
from ..base.errors import AdrenoSimError
from ..base.specs import ImageSpec, Local, Null, Sampler
from ..device.protocol import Device, Watch
from ..ir.mod_ref import read_arguments
from ..ir.printer import print_function
from ..memory.storage import StorageView
from .elements import as_elements, find_element_type
from .rounding import Nudge
from .run import ReadingsOutcome

MOST_BYTES = 1 << 29
"""The most bytes of memory of a launch that runs again elsewhere: it is there as often as there are devices at once."""
_VALUES = (bytes, bytearray, np.generic, np.ndarray, int, float, Local, Null, Sampler)


class ViewLaunch:
    """Implements `run.Launch`. contents: what views held before the launch, by position; the others still hold it."""

    def __init__(
        self,
        device: Device,
        kernel: SimKernel,
        global_size: Sequence[int],
        offset: Sequence[int] | None,
        arguments: Sequence[Any],
    ):
        self._device, self._kernel = device, kernel
        self._global_size, self._offset, self._arguments = tuple(global_size), offset, arguments
        self._views = {index: view for index, view in enumerate(arguments) if isinstance(view, StorageView)}
        self._contents: dict[int, np.ndarray] = {}
        self._types: dict[tuple[int, bool], np.dtype] = {}

    @property
    def obstacle(self) -> str:
        """Why the launch cannot run elsewhere; "" if it can."""
        if not all(isinstance(one, (StorageView, *_VALUES)) for one in self._arguments):
            return "it has arguments that are in no buffer or image"
        if any(view.storage.on_chip for view in self._views.values()):
            return "it has on-chip memory, whose contents last for one run"
        nbytes = sum({view.storage: view.storage.nbytes for view in self._views.values()}.values())
        if nbytes > MOST_BYTES:
            return f"its {nbytes:,} bytes of memory are more than the {MOST_BYTES:,} that are copied"
        images = [view for view in self._views.values() if isinstance(view.spec, ImageSpec)]
        storages = [view.storage for view in self._views.values()]
        shared = any(storages.count(view.storage) > 1 for view in images)
        return "an image shares its memory with another argument" if shared else ""

    def builds_again(self) -> bool:
        """Returns whether the source of the kernel gives it once more."""
        ours: Any = self._kernel.device
        try:
            again = ours.build(self._kernel.source, self._kernel.options)[self._kernel.name]
        except AdrenoSimError:
            return False
        return print_function(again.function) == print_function(self._kernel.function)

    def keep_contents(self) -> None:
        """Copy what the launch may change, before it runs."""
        written = {view.storage for index, view in self._views.items() if self._kernel.writes(index)}
        self._contents = {index: self._device.read(view) for index, view in self._views.items() if view.storage in written}

    def name_argument(self, index: int) -> str:
        return self._kernel.params[index].name or str(index)

    def run(
        self, device: Device, group: tuple[int, int, int], *, watched: tuple[int, int] | None = None, nudge: Nudge | None = None
    ) -> ReadingsOutcome:
        kernel = self._kernel_on(device)
        made: dict[object, Any] = {}
        try:
            copies = {index: self._copy(device, index, made, nudge) for index in self._views}
            arguments = [copies.get(index, value) for index, value in enumerate(self._arguments)]
            watch = None if watched is None else self._watch(copies[watched[0]], *watched)
            local = group[: len(self._global_size)]
            result = device.launch(kernel, self._global_size, local, arguments, watch=watch, offset=self._offset)
            left = {index: np.asarray(device.read(copy)) for index, copy in copies.items() if self._kernel.writes(index)}
            typed = {index: as_elements(array, self._type_of(index)) for index, array in left.items()}
            return ReadingsOutcome(typed, result.findings, result.stores)
        finally:
            for storage in made.values():
                device.free(storage)

    def _kernel_on(self, device: Any) -> SimKernel:
        """Returns the kernel as built for a device: built again if its compiler would read the source otherwise."""
        ours: Any = self._kernel.device
        reads_alike = device.profile["opencl"] == ours.profile["opencl"]
        if reads_alike and device.options.finite_math == ours.options.finite_math:
            return replace(self._kernel, device=device)
        found: SimKernel = device.build(self._kernel.source, self._kernel.options)[self._kernel.name]
        return found

    def _copy(self, device: Device, index: int, made: dict[object, Any], nudge: Nudge | None) -> Any:
        """Returns a view with the contents of one of ours; views of one storage share one there too."""
        ours = self._views[index]
        if isinstance(ours.spec, ImageSpec):
            spec: Any = replace(ours.spec, row_pitch=None, slice_pitch=None)
            made[ours] = storage = device.allocate(device.view_nbytes(spec))
            view = device.view(storage, spec)
        else:
            if ours.storage not in made:
                made[ours.storage] = device.allocate(ours.storage.nbytes)
            view = device.view(made[ours.storage], ours.spec, ours.offset)
        array = self._contents[index] if index in self._contents else self._device.read(ours)
        device.write(view, array if nudge is None else self._nudged(array, index, nudge))
        return view

    def _nudged(self, array: np.ndarray, index: int, nudge: Nudge) -> np.ndarray:
        if index not in read_arguments(self._kernel.function):
            return array
        elements = as_elements(array, self._type_of(index, stores=False))
        return nudge(elements).view(array.dtype).reshape(array.shape)

    def _type_of(self, index: int, stores: bool = True) -> np.dtype:
        known = self._types.get((index, stores))
        if known is None:
            function = self._kernel.function
            known = find_element_type(function, function.params[index], self._views[index], stores)
            self._types[index, stores] = known
        return known

    def _watch(self, copy: Any, index: int, element: int) -> Watch:
        """Returns a watch of an element, counted as the elements of the view are."""
        own = np.dtype(self._device.read(self._views[index]).dtype).itemsize
        return Watch(copy, element * self._type_of(index).itemsize // own)
