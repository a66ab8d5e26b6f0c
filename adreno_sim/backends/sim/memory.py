"""The memory of a simulated device: storages of its pools, the views over them, and what the host writes, reads and copies."""

from __future__ import annotations

import numpy as np

from ...base.errors import DeviceError
from ...base.run_options import RunOptions
from ...base.specs import BufferSpec, ImageSpec, ViewSpec
from ...device.protocol import PoolStats
from ...image.layout import own_layout_of
from ...memory.heap import Heap
from ...memory.pool import PagedPool
from ...memory.spilled import pages_of
from ...memory.storage import PAGE, MemoryBlock, Storage, StorageView, after_write, before_access, copy_marks
from ...profiles.profile import Profile
from . import limits
from .device_warnings import DeviceWarnings
from .on_chip import SimOnChip
from .views import ViewMaker


class SimMemory:
    """Storages and views of `device`, under the rules of its profile. Methods that `Device` has too do what that says."""

    def __init__(self, device: object, profile: Profile, options: RunOptions, heap: Heap | None, warnings: DeviceWarnings):
        """heap: where all of it lies; without it, in this process. warnings: gets those about views."""
        self._device, self._profile = device, profile
        self._memory = limits.memory_of(profile, options.seed, options.checks == "full", heap)
        self._pool = PagedPool(self._memory, profile["page_size"], keep=options.pool != "none")
        self._views = ViewMaker(device, profile, self._memory, self._image_memory, warnings)
        self._storages: set[Storage] = set()
        self._peak_used = 0
        self.on_chip = SimOnChip(profile, self._memory, self._storages)

    # -- storages and views

    def allocate(self, nbytes: int) -> Storage:
        """Storage of `nbytes`. CL_INVALID_BUFFER_SIZE, or CL_MEM_OBJECT_ALLOCATION_FAILURE when memory is full."""
        return self._register(self._pool.allocate(int(nbytes)))

    def borrow(self, array: np.ndarray) -> Storage | None:
        """Storage over the bytes of an array that is in whole pages of a file, to be read only; None for another array."""
        pages = pages_of(array)
        if pages is None or self._memory.is_shared or self._profile["page_size"] != PAGE:
            return None
        return self._register(self._pool.borrow(pages, array.nbytes))

    def free(self, storage: object) -> None:
        """Return `storage` to the pool; its views cannot be used any more. CL_INVALID_MEM_OBJECT if it was freed before."""
        ours = self._live(storage)
        ours.live = False
        self._storages.remove(ours)
        for view in list(ours.views):
            view.end()
        if not self.on_chip.release(ours):
            self._pool.free(ours)

    def view(self, storage: object, spec: ViewSpec, offset: int = 0) -> StorageView:
        """A view of `spec` at byte `offset`. Raises the error of clCreateSubBuffer or clCreateImage where one would."""
        ours = self._live(storage)
        view = self._views.buffer(ours, spec, offset) if isinstance(spec, BufferSpec) else self._views.image(ours, spec, offset)
        self._note_use()
        return view

    def create_image(self, spec: ImageSpec) -> StorageView:
        """An image with its own memory, as clCreateImage without a buffer makes it; `free` its storage."""
        limits.check_image(spec, self._profile)
        storage = self.allocate(own_layout_of(spec, self._profile).nbytes)
        return self._views.image_alone(storage, spec)

    def view_nbytes(self, spec: ViewSpec) -> int:
        """Bytes of storage a view of `spec` needs on this device, pitch padding included."""
        return spec.nbytes if isinstance(spec, BufferSpec) else self._views.image_nbytes(spec)

    def pool_stats(self) -> PoolStats:
        """Whole pages. `used` includes separate images; `peak_reserved` is the most memory the device ever gave out."""
        return PoolStats(self._used(), self._memory.reserved, self._peak_used, self._memory.peak)

    def own(self, view: object) -> StorageView:
        """A live view of this device. CL_INVALID_MEM_OBJECT for anything else."""
        if not isinstance(view, StorageView) or view.device is not self._device:
            raise DeviceError("CL_INVALID_MEM_OBJECT", f"{view!r:.60} is not a view of this device")
        if not view.live:
            raise DeviceError("CL_INVALID_MEM_OBJECT", "a view that is released, or whose storage was freed")
        return view

    # -- data

    def write(self, view: object, array: np.ndarray) -> None:
        """Replace the elements of `view` by `array`, of the same dtype and as many elements, in logical order."""
        ours = self._current(view, "writes")
        target, given = ours.array(), np.asarray(array)
        if given.dtype != target.dtype or given.size != target.size:
            raise DeviceError(
                "CL_INVALID_VALUE",
                f"write of {given.size} {given.dtype} elements to a view of {target.size} {target.dtype} elements",
            )
        target[...] = given.reshape(target.shape)
        ours.mark()
        after_write(ours)

    def read(self, view: object) -> np.ndarray:
        """A copy of the elements: (count,) of a buffer, (layers, height, width, channels) of an image."""
        return self._current(view, "reads").array().copy()

    def copy(self, source: object, target: object) -> None:
        """Copy all elements in logical order; views of the same dtype and number of elements, of any kind."""
        origin, into = self._current(source, "copies"), self._current(target, "copies")
        data, room = origin.array(), into.array()
        if data.dtype != room.dtype or data.size != room.size:
            raise DeviceError(
                "CL_INVALID_VALUE", f"copy of {data.size} {data.dtype} elements to a view of {room.size} {room.dtype} elements"
            )
        room[...] = data.reshape(room.shape)
        copy_marks(origin, into)
        after_write(into)

    def discard(self, view: object) -> None:
        """Make the bytes of `view` what those of fresh memory are: NaNs, and at level full unwritten."""
        ours = self._current(view)
        start = 0 if ours.separate else ours.offset
        ours.block.poison(start, start + (ours.layout.nbytes if ours.layout is not None else ours.nbytes))
        after_write(ours)

    # -- inside

    def _current(self, view: object, does: str = "") -> StorageView:
        """Returns a live view of this device, with its bytes up to date. does: what the host does with it."""
        ours = self.own(view)
        if does and self.on_chip.in_use:
            self.on_chip.note_host(ours, does)
        before_access(ours)
        return ours

    def _live(self, storage: object) -> Storage:
        if not isinstance(storage, Storage) or storage not in self._storages:
            raise DeviceError("CL_INVALID_MEM_OBJECT", "storage that was freed, or is not of this device")
        return storage

    def _image_memory(self, nbytes: int) -> MemoryBlock:
        return self._pool.retry_after_release(lambda: self._memory.take(nbytes))

    def _used(self) -> int:
        return self._memory.reserved - self._pool.kept

    def _register(self, storage: Storage) -> Storage:
        self._storages.add(storage)
        self._note_use()
        return storage

    def _note_use(self) -> None:
        self._peak_used = max(self._peak_used, self._used())
