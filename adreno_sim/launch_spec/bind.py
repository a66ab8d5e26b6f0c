"""Arguments of a launch file on a device: storages, views with their contents, values by the kernel's types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.errors import AdrenoSimError, DeviceError, OptionError
from ..base.rejected_call import rejected_call
from ..base.specs import BufferSpec, Local, Null, Storage, View
from ..device.protocol import Device, KernelParam
from ..findings import Finding
from ..image.formats import CHANNEL_TYPES, ORDERS
from ..memory.storage import StorageView
from ..memory.undefined_bits import set_undefined_bits
from . import scalars
from .model import (
    ArgumentSpec,
    BufferArgument,
    ImageArgument,
    LaunchSpec,
    LocalArgument,
    NullArgument,
    SamplerArgument,
    ScalarArgument,
)

Arrays = Mapping[int, np.ndarray]
"""Contents of the buffers and images of a launch, by the position of the argument."""

_SHOWN = 40  # names in a message


class RejectedCall(Exception):
    """The device rejected a call with an OpenCL error code: `finding` says which call and why."""

    def __init__(self, finding: Finding):
        super().__init__(finding.message)
        self.finding = finding


def as_rejected_call(error: DeviceError, view: str = "") -> RejectedCall:
    """A refused call, made for the argument `view`."""
    return RejectedCall(rejected_call(error, view))


def check_names(spec: LaunchSpec, kernel: str, params: Sequence[KernelParam], named: bool) -> None:
    """The arguments are as many as the kernel's, and those with a name are where it is. Raises AdrenoSimError.

    named: the device knows the names in the source; drivers that define built-ins as macros rename what is called like one.
    """
    given = spec.arguments
    if len(given) != len(params):
        names = [param.name for param in params[:_SHOWN]] + ["..."] * (len(params) > _SHOWN)
        takes = f"kernel {kernel} takes {len(params)} arguments ({', '.join(names)})"
        raise AdrenoSimError(f"{spec.file}: [[argument]]: {takes}, {len(given)} given")
    for number, (argument, param) in enumerate(zip(given, params, strict=True), 1):
        if named and argument.name and argument.name != param.name:
            called = f"kernel {kernel} calls this argument {param.name}, got {argument.name!r}"
            raise AdrenoSimError(f"{spec.file}: [[argument]] {number}: name: {called}")


def parameter_name(spec: LaunchSpec, params: Sequence[KernelParam], index: int) -> str:
    """What an argument is called: by the launch file, by the kernel, or by its position."""
    return spec.arguments[index].name or params[index].name or str(index)


class BoundArguments:
    """The arguments of one launch on `device`. `values` are parallel to the kernel's parameters."""

    def __init__(self, device: Device, spec: LaunchSpec, params: Sequence[KernelParam]):
        self._device, self._spec = device, spec
        self._storages = {name: self._allocate(nbytes, name) for name, nbytes in spec.storages.items()}
        self.values = [self._bind(number, *pair) for number, pair in enumerate(zip(spec.arguments, params, strict=True))]

    def fill(self, change: Callable[[np.ndarray], np.ndarray] | None = None) -> None:
        """Write the contents of every buffer and image, in the order of the arguments. change: what they are first changed by."""
        for argument, value in zip(self._spec.arguments, self.values, strict=True):
            if isinstance(argument, (BufferArgument, ImageArgument)):
                array = argument.data.array(*elements(argument))
                if array is not None:
                    self._device.write(value, array if change is None else change(array))
                self._undefine(argument, value)

    def _undefine(self, argument: BufferArgument | ImageArgument, view: View) -> None:
        """Tell a device that keeps definedness which bits are undefined."""
        if argument.undefined is not None and isinstance(view, StorageView):
            dtype, count = elements(argument)
            bits = argument.undefined.array("uint8", count * np.dtype(dtype).itemsize)
            if bits is not None:
                set_undefined_bits(view, bits)

    def free(self) -> None:
        """Give the memory of all arguments back to the device."""
        for storage in {id(self.values[index].storage): self.values[index].storage for index in self.views}.values():
            self._device.free(storage)

    @property
    def views(self) -> list[int]:
        """Positions of buffers and images."""
        arguments = enumerate(self._spec.arguments)
        return [index for index, argument in arguments if isinstance(argument, (BufferArgument, ImageArgument))]

    def read(self, positions: Sequence[int]) -> dict[int, np.ndarray]:
        """What these buffers and images hold, as the device reads it."""
        return {index: np.asarray(self._device.read(self.values[index])) for index in positions}

    def write(self, contents: Arrays) -> None:
        """Write what another device's arguments hold."""
        for index, array in contents.items():
            self._device.write(self.values[index], array)

    def _allocate(self, nbytes: int, view: str) -> Storage:
        try:
            return self._device.allocate(nbytes)
        except DeviceError as error:
            raise as_rejected_call(error, view=view) from None

    def _bind(self, number: int, argument: ArgumentSpec, param: KernelParam) -> Any:
        if isinstance(argument, (BufferArgument, ImageArgument)):
            return self._view(argument, param.name)
        if isinstance(argument, LocalArgument):
            return Local(argument.nbytes)
        if isinstance(argument, NullArgument):
            return Null()
        if isinstance(argument, SamplerArgument):
            return argument.sampler
        return _value(argument, param, f"{self._spec.file}: [[argument]] {number + 1} ({param.name})")

    def _view(self, argument: BufferArgument | ImageArgument, name: str) -> View:
        if isinstance(argument, ImageArgument):
            spec: Any = argument.spec
        else:
            dtype, count = elements(argument)
            try:
                spec = BufferSpec(count * np.dtype(dtype).itemsize, dtype, argument.extent)
            except OptionError as error:
                raise AdrenoSimError(f"{self._spec.file}: argument {name}: {error}") from None
        place = argument.place
        try:
            needed = self._device.view_nbytes(spec)
        except DeviceError as error:
            raise as_rejected_call(error, view=name) from None
        storage = self._storages[place.storage] if place.storage else self._allocate(needed, name)
        try:
            return self._device.view(storage, spec, place.offset)
        except DeviceError as error:
            raise as_rejected_call(error, view=name) from None


def elements(argument: BufferArgument | ImageArgument) -> tuple[str, int]:
    """dtype and number of the elements of an argument's contents."""
    if isinstance(argument, BufferArgument):
        return argument.dtype, argument.data.count or 0 if argument.count is None else argument.count
    spec = argument.spec
    texels = spec.width * spec.height * spec.depth_or_layers
    return CHANNEL_TYPES[spec.channel_type][0], texels * len(ORDERS[spec.order])


def _value(argument: ScalarArgument, param: KernelParam, where: str) -> Any:
    type = argument.type or param.spelled
    if not scalars.is_type(type):
        if param.kind != "scalar":  # the device says what it expected instead
            return scalars.make("int", 0)
        raise AdrenoSimError(f"{where}: type: missing: the kernel declares {type}; say what it stands for, or bytes for a struct")
    wrong = scalars.value_error(type, argument.value)
    if wrong:
        raise AdrenoSimError(f"{where}: value: {wrong}")
    return scalars.make(type, argument.value)
