"""A launch of the simulated device's, with the memory that it found, on another device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.errors import AdrenoSimError
from ...base.specs import BufferSpec, ImageSpec, View
from ...device.protocol import Device, KernelParam
from ...memory.storage import Storage, StorageView
from ...memory.undefined_bits import find_undefined
from ...records import dataclass
from ..launches import DriverLaunch
from .elements import SCALARS


@dataclass(frozen=True)
class Contents:
    """What a view held before a launch: its elements, and of each of their bytes the undefined bits."""

    array: np.ndarray
    undefined: np.ndarray


class LaunchCopy:
    """The arguments of a launch on `device`; views with what `contents` says of them, as images of `widened` where they are
    there. Raises AdrenoSimError for arguments that another device lays out in its own way."""

    def __init__(
        self,
        device: Device,
        launch: DriverLaunch,
        contents: Mapping[StorageView, Contents],
        widened: Mapping[StorageView, tuple[ImageSpec, np.ndarray]] | None = None,
    ):
        self._device, self._contents, self._widened = device, contents, widened or {}
        self._views = [value for value in launch.arguments if isinstance(value, StorageView)]
        self._made: dict[Storage | StorageView, Any] = {}
        self.arguments: list[Any] = []
        try:
            for param, value in zip(launch.kernel.params, launch.arguments, strict=True):
                self.arguments.append(self._copy(param, value))
        except BaseException:
            self.free()
            raise

    def free(self) -> None:
        """Give all memory back."""
        for argument in self.arguments:
            if hasattr(argument, "release"):
                argument.release()
        for storage in self._made.values():
            self._device.free(storage)
        self._made.clear()

    def _copy(self, param: KernelParam, value: Any) -> Any:
        if isinstance(value, StorageView):
            return self._copy_view(value)
        return _scalar(param, value) if isinstance(value, bytes) else value

    def _copy_view(self, ours: StorageView) -> View:
        """A view with the contents of one on the simulator; buffers that share a storage share one there too."""
        together = [view for view in self._views if view.storage is ours.storage]
        spec: BufferSpec | ImageSpec = ours.spec
        array = self._contents[ours].array
        key: Storage | StorageView = ours.storage
        offset, nbytes = ours.offset, ours.storage.nbytes
        if isinstance(spec, ImageSpec) and len(together) == 1:
            spec, array = self._widened.get(ours, (spec, array))
            spec, key, offset = replace(spec, row_pitch=None, slice_pitch=None), ours, 0
            nbytes = self._device.view_nbytes(spec)
        elif any(isinstance(view.spec, ImageSpec) for view in together):
            raise AdrenoSimError("an image shares its memory with another argument, whose bytes lie elsewhere on another device")
        if key not in self._made:
            self._made[key] = self._device.allocate(nbytes)
        theirs = self._device.view(self._made[key], spec, offset)
        self._device.write(theirs, array)
        return theirs


def _scalar(param: KernelParam, value: bytes) -> Any:
    """An argument by value, of its type where that is a scalar."""
    dtype = SCALARS.get(param.spelled)
    if dtype is not None and len(value) == np.dtype(dtype).itemsize:
        return np.frombuffer(value, dtype)[0]
    return np.frombuffer(value, np.uint8)


def take_contents(values: Sequence[Any]) -> dict[StorageView, Contents]:
    """What the views among the arguments of a launch hold."""
    views = [value for value in values if isinstance(value, StorageView)]
    return {view: Contents(np.array(view.array()), find_undefined(view)) for view in views}
