"""Values of a running model: tensors over device storages, counted exactly so that each storage ends when it should."""

from __future__ import annotations

from typing import Union

import numpy as np

from ...base.errors import UnsupportedError
from ...base.specs import BufferSpec, Storage, TensorSpec, View
from ...device.lending import lend
from ...device.protocol import Device
from ...records import dataclass
from .texture_views import device_view


class RefCounted:
    """Something held by registers and tuples: dropped when the last holder releases it. Starts with one holder."""

    def __init__(self) -> None:
        self.holders = 1

    def retain(self) -> None:
        self.holders += 1

    def release(self) -> None:
        self.holders -= 1
        if self.holders == 0:
            self.drop()

    def drop(self) -> None:
        raise AssertionError("a Counted class defines drop")


class StorageHandle(RefCounted):
    """Device memory of one alloc_storage; freed when neither a register nor a view holds it. storage: where there is one already.

    views: those that live. poison: discard the bytes of a view when it ends, as those of freed memory are, so that
    what is read of a tensor after its end is seen to be wrong.
    """

    def __init__(self, device: Device, nbytes: int, poison: bool = False, storage: Storage | None = None):
        super().__init__()
        self.device = device
        self.poison = poison
        self.views: list[ViewHandle] = []
        # No device has empty memory, but tensors may be empty.
        self.storage: Storage = device.allocate(max(nbytes, 1)) if storage is None else storage

    def drop(self) -> None:
        self.device.free(self.storage)


class ViewHandle(RefCounted):
    """One view of a storage, shared by a tensor and its aliases; keeps the storage."""

    def __init__(self, owner: StorageHandle, spec: TensorSpec, offset: int = 0, name: str = ""):
        super().__init__()
        view = device_view(spec, owner.device)
        self.view: View = owner.device.view(owner.storage, view, offset)
        self.owner = owner
        self.name = name
        self.start, self.end = offset, offset + owner.device.view_nbytes(view)
        owner.retain()
        owner.views.append(self)

    def meets(self) -> list[ViewHandle]:
        """Other live views of the storage that have bytes in common with this one."""
        return [v for v in self.owner.views if v is not self and v.start < self.end and self.start < v.end]

    def drop(self) -> None:
        self.view.release()
        if self.owner.poison and self.owner.holders > 1 and not self.meets():
            self._poison()
        self.owner.views.remove(self)
        self.owner.release()

    def _poison(self) -> None:
        device, nbytes = self.owner.device, min(self.end, self.owner.storage.nbytes) - self.start
        if nbytes <= 0:
            return
        view = device.view(self.owner.storage, BufferSpec(nbytes), self.start)
        device.discard(view)
        view.release()


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor on the device: logical shape and numpy dtype over a view. `name`: the register that first held it. lent: the array
    in whose memory it lies, which nobody writes to."""

    shape: tuple[int, ...]
    dtype: str
    scope: str
    handle: ViewHandle
    name: str = ""
    lent: np.ndarray | None = None

    @property
    def view(self) -> View:
        return self.handle.view

    @property
    def device(self) -> Device:
        return self.handle.owner.device

    def read(self) -> np.ndarray:
        """The contents as an array of `shape`, to be read only where they are in one already."""
        if self.lent is not None:
            return self.lent.reshape(self.shape)
        return np.asarray(self.device.read(self.view)).reshape(self.shape)

    def write(self, array: np.ndarray) -> None:
        """Replace the contents; `array` has as many elements as the tensor."""
        dense = np.ascontiguousarray(array, dtype=self.dtype)
        self.device.write(self.view, dense.reshape(logical_shape(self.view)))

    def reshape(self, shape: tuple[int, ...], name: str) -> Tensor:
        """An alias under another shape (a new holder of the view). A texture must keep its extents."""
        spec = TensorSpec(shape, self.dtype, self.scope)
        if spec.lower() != TensorSpec(self.shape, self.dtype, self.scope).lower():
            raise UnsupportedError(f"reshape of a texture ({self.scope}) from {self.shape} to {shape}: its texels would move")
        self.handle.retain()
        return Tensor(shape, self.dtype, self.scope, self.handle, name, self.lent)

    def retain(self) -> None:
        self.handle.retain()

    def release(self) -> None:
        self.handle.release()


def logical_shape(view: View) -> tuple[int, ...]:
    """Shape in which a device reads and writes a view."""
    spec = view.spec
    if isinstance(spec, BufferSpec):
        return (spec.count,)
    return (spec.depth_or_layers, spec.height, spec.width, 4)


def allocate_tensor(device: Device, shape: tuple[int, ...], dtype: str, scope: str, name: str) -> Tensor:
    """A tensor in a separate storage, both ending together."""
    spec = TensorSpec(shape, dtype, scope)
    owner = StorageHandle(device, device.view_nbytes(device_view(spec, device)))
    try:
        return Tensor(shape, dtype, scope, ViewHandle(owner, spec), name)
    finally:
        owner.release()


def lend_tensor(device: Device, array: np.ndarray, scope: str, name: str) -> Tensor | None:
    """A tensor of these elements, which nobody writes to, in the memory that they have; None if they must be copied."""
    if scope != "global" or (storage := lend(device, array)) is None:
        return None
    owner = StorageHandle(device, array.nbytes, storage=storage)
    try:
        spec = TensorSpec(array.shape, array.dtype.name, scope)
        return Tensor(array.shape, array.dtype.name, scope, ViewHandle(owner, spec), name, array)
    finally:
        owner.release()


Shape = tuple[int, ...]
Scalar = Union[int, float, bool, np.generic]


@dataclass(frozen=True, eq=False)
class TupleValue:
    """A tuple of values; holds each item once."""

    items: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class ShapeValue:
    dims: Shape


@dataclass(frozen=True, eq=False)
class HeapValue:
    """The shape heap: int64 slots in host memory."""

    slots: np.ndarray


@dataclass(frozen=True)
class FunctionValue:
    """A host function that was handed on."""

    name: str


class HostObject(RefCounted):
    """An object of TVM's runtime that keeps state, as a KV cache; it frees what it holds when its last holder releases it."""


Value = Union[Tensor, TupleValue, ShapeValue, HeapValue, StorageHandle, FunctionValue, HostObject, int, float, bool, str, None]


def retain(value: Value) -> Value:
    """Add a holder to everything counted inside `value`; returns it."""
    if isinstance(value, (Tensor, RefCounted)):
        value.retain()
    elif isinstance(value, TupleValue):
        for item in value.items:
            retain(item)
    return value


def release(value: Value) -> None:
    """Remove a holder from everything counted inside `value`."""
    if isinstance(value, (Tensor, RefCounted)):
        value.release()
    elif isinstance(value, TupleValue):
        for item in value.items:
            release(item)


def leaves_of(value: Value) -> list[Value]:
    """The values inside `value` that are not tuples, in order."""
    return [leaf for item in value.items for leaf in leaves_of(item)] if isinstance(value, TupleValue) else [value]
