"""Device memory: blocks, storages, and the buffer and image views that share a storage's bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.alignment import align_up
from ..base.errors import DeviceError
from ..base.host_memory import available_bytes
from ..base.specs import BufferSpec, ViewSpec
from ..base.stored.cached_hash import CachedHash
from ..image import Format, Layout, texel_array
from ..records import dataclass
from .heap import Heap

PAGE = 4096
_LARGE = 64 << 20  # bytes from which on the host is asked first: what it cannot back kills the process when touched
_SPARE = 128 << 20  # bytes to leave to the rest of the process

Bytes = NDArray[np.uint8]


def poison_word(seed: int) -> int:
    """64 bits that are a quiet NaN as one double, two floats and four halves, and differ by seed."""
    word = 0
    for lane in range(4):
        nibble = (seed >> (4 * lane)) & 15
        word |= (0x7FF8 | (nibble & 7) | (nibble & 8) << 12) << (16 * lane)
    return word


class MemoryBlock:
    """Page-aligned bytes of the device, a whole number of pages, poisoned when made and whenever they change hands.

    room: whole pages to use; fresh ones of this process without it. valid: where it is recorded which bytes anybody has
    written, 1 for each that is; else None. borrowed: the bytes of `room` are the contents, and somebody else's.
    """

    def __init__(self, nbytes: int, poison: int, record: bool = False, room: Bytes | None = None, borrowed: bool = False):
        self.nbytes, self.borrowed = align_up(nbytes, PAGE), borrowed
        self.bytes: Bytes = _fresh_pages(self.nbytes) if room is None else room
        self.address = self.bytes.ctypes.data  # asked once: it costs as much as a short launch's own work
        self._valid: Bytes | None = np.zeros(self.nbytes, np.uint8) if record else None
        self._valid_address = self._valid.ctypes.data if self._valid is not None else 0
        self._unmarked: dict[object, StorageView] = {}
        self._forgotten = 0
        self._whole: set[object] = set()
        self._poison = np.uint64(poison)
        if not borrowed:
            self.poison()
        elif self._valid is not None:
            self._valid[:] = 1

    @property
    def valid(self) -> Bytes | None:
        """The record of written bytes, up to date."""
        self._mark(self._unmarked)
        return self._valid

    def address_of_marks(self, rewritten: StorageView | None = None) -> int:
        """Returns where the record of written bytes begins, 0 if there is none. It is up to date, except for a view that a launch
        is about to write whole: its record is forgotten.
        """
        if rewritten is not None:
            self._unmarked.pop(rewritten.key, None)
            self._mark([key for key, view in self._unmarked.items() if view.overlaps(rewritten)])
        else:
            self._mark(self._unmarked)
        return self._valid_address

    def note_whole(self, view: StorageView) -> None:
        """Notes that all of a view of this block has been written. Its bytes are marked when somebody reads the marks, which is
        mostly never."""
        self._unmarked[view.key] = view
        view.whole_at = self._forgotten

    def _mark(self, keys: Iterable[object]) -> None:
        for key in list(keys):
            view = self._unmarked.pop(key)
            assert self._valid is not None
            if view.layout is None:
                self._valid[view.offset : view.offset + view.nbytes] = 1
            else:
                _set_all(view.elements_in(self._valid))

    def poison(self, low: int = 0, high: int | None = None) -> None:
        """Overwrite bytes from `low` to `high` (default: everything) with the NaN pattern; nobody has written them then."""
        piece = self.bytes[low:high]
        whole = piece.nbytes // 8 * 8
        if piece.ctypes.data % 8 == 0:
            piece[:whole].view(np.uint64).fill(self._poison)
            piece[whole:] = np.frombuffer(self._poison.tobytes(), np.uint8)[: piece.nbytes - whole]
        else:
            piece[:] = np.resize(np.frombuffer(self._poison.tobytes(), np.uint8), piece.nbytes)
        self.forget()
        if self._valid is not None:
            if low == 0 and high is None:
                self._unmarked.clear()
            self._mark(self._unmarked)
            self._valid[low:high] = 0

    def note_foreign_writes(self) -> None:
        """Somebody may have written bytes without a word: 32 bits that are no more the pattern of unwritten ones are written."""
        if self._valid is not None:
            self._valid.reshape(-1, 4)[self._changed()] = 1

    def find_fresh(self) -> Bytes:
        """For each byte whether its 32 bits are the pattern of bytes that nobody has written: 255, else 0."""
        fresh: Bytes = np.repeat(np.where(self._changed(), np.uint8(0), np.uint8(255)), 4)
        return fresh

    def has_foreign_writes(self) -> bool:
        """Whether bytes that nobody is known to have written are no more the pattern of such bytes."""
        return self.valid is not None and bool((self._changed() & ~self.valid.reshape(-1, 4).any(1)).any())

    def _changed(self) -> NDArray[np.bool_]:
        """For each 32 bits, whether they are another value than `poison` gives them."""
        return (self.bytes.view(np.uint32).reshape(-1, 2) != self._poison.reshape(1).view(np.uint32)).reshape(-1)

    def forget(self) -> None:
        """Some bytes may have become invalid."""
        self._forgotten += 1
        self._whole.clear()

    def is_whole(self, view: StorageView) -> bool:
        """Whether all elements of a view of this block have been written. What was found once holds until `forget`."""
        if view.whole_at == self._forgotten:
            return True
        key = view.key
        if key in self._unmarked:
            return True
        if key not in self._whole:
            marks = view.marks()
            if marks is None or not (as_unsigned(marks) == _all_set(marks)).all():
                return False
            self._whole.add(key)
        view.whole_at = self._forgotten
        return True


def _fresh_pages(nbytes: int) -> Bytes:
    raw = np.empty(nbytes + PAGE, np.uint8)
    start = -raw.ctypes.data % PAGE
    return raw[start : start + nbytes]


def as_unsigned(marks: NDArray) -> NDArray:
    """The bits of the elements as unsigned integers: marks are not values of the element's type."""
    return marks.view(f"u{marks.itemsize}")


def _all_set(marks: NDArray) -> int:
    """An element whose bytes are all marked."""
    return int.from_bytes(b"\1" * marks.itemsize, "little")


def _set_all(marks: NDArray) -> None:
    as_unsigned(marks)[...] = _all_set(marks)


class DeviceMemory:
    """All memory of a device. `reserved` counts whole pages and never passes `total`; `peak` is its maximum so far."""

    def __init__(
        self, total: int, max_alloc: int, seed: int = 0, record: bool = False, heap: Heap | None = None, *,
        notes: tuple[str, str] = ("", ""),
    ):  # fmt: skip
        """`record`: blocks know which of their bytes have been written. heap: where they lie; this process without it.
        notes: what a refusal says after `total` and after `max_alloc`."""
        self.total, self.max_alloc, self._record, self._heap = total, max_alloc, record, heap
        self._total_note, self._alloc_note = notes
        self.reserved = self.peak = 0
        self._poison = poison_word(seed)

    def take(self, nbytes: int) -> MemoryBlock:
        """A new block. CL_INVALID_BUFFER_SIZE for a size no buffer has, CL_MEM_OBJECT_ALLOCATION_FAILURE when memory is full."""
        if not 0 < nbytes <= self.max_alloc:
            raise DeviceError("CL_INVALID_BUFFER_SIZE", f"{nbytes} bytes: expected 1 to {self._most()}")
        needed = align_up(nbytes, PAGE)
        if self.reserved + needed > self.total:
            raise self._failure(nbytes)
        left = available_bytes() if needed > _LARGE else None
        if left is not None and needed > left - _SPARE:
            raise self._failure(nbytes, f", but the host has only {left} left")
        try:
            block = MemoryBlock(nbytes, self._poison, self._record, self._heap.take(needed) if self._heap else None)
        except MemoryError:
            raise self._failure(nbytes, ", but the host has no more") from None
        return self._count(block)

    def borrow(self, pages: Bytes) -> MemoryBlock:
        """A block over pages of the caller's, which hold what it then holds. It counts, and is refused, as a new one."""
        if pages.nbytes > self.max_alloc:
            raise DeviceError("CL_INVALID_BUFFER_SIZE", f"{pages.nbytes} bytes: expected up to {self._most()}")
        if self.reserved + align_up(pages.nbytes, PAGE) > self.total:
            raise self._failure(pages.nbytes)
        return self._count(MemoryBlock(pages.nbytes, self._poison, self._record, pages, borrowed=True))

    def make_apart(self, nbytes: int) -> MemoryBlock:
        """A block that is not part of this memory and does not count, as one on the chip."""
        return MemoryBlock(nbytes, self._poison, self._record)

    def _count(self, block: MemoryBlock) -> MemoryBlock:
        self.reserved += block.nbytes
        self.peak = max(self.peak, self.reserved)
        return block

    def give_back(self, block: MemoryBlock) -> None:
        """Return a block to the device; its bytes must not be used any more."""
        if block.borrowed:
            pass
        elif self._heap is None:
            block.poison()
        else:
            self._heap.give_back(block.bytes)
        self.reserved -= block.nbytes

    @property
    def is_shared(self) -> bool:
        """Whether its blocks are in a heap, which others map too."""
        return self._heap is not None

    def _most(self) -> str:
        return f"MAX_MEM_ALLOC_SIZE = {self.max_alloc}{self._alloc_note}"

    def _failure(self, nbytes: int, why: str = "") -> DeviceError:
        return DeviceError(
            "CL_MEM_OBJECT_ALLOCATION_FAILURE",
            f"{nbytes} bytes: {self.total - self.reserved} of GLOBAL_MEM_SIZE = {self.total}{self._total_note} are free{why}",
        )


@dataclass(eq=False)
class Storage:
    """`nbytes` at the start of a block, live until freed. `bytes` are shared by all views that are not separate images.

    version: counts the changes to `bytes`. newest: separate images that hold newer data than `bytes` under them.
    on_chip: it is on the chip.
    """

    nbytes: int
    block: MemoryBlock
    live: bool = True
    version: int = 0
    newest: list[StorageView] = field(default_factory=list)
    views: list[StorageView] = field(default_factory=list)
    on_chip: bool = False

    @property
    def bytes(self) -> Bytes:
        return self.block.bytes


@dataclass(frozen=True)
class ViewShape(CachedHash):
    """The immutable facts of a view: everything but its address and contents."""

    spec: ViewSpec
    nbytes: int
    layout: Layout | None

    __hash__ = CachedHash.__hash__


@dataclass(eq=False)
class StorageView:
    """A buffer or image over `nbytes` of a storage from `offset`.

    layout, format: of images. separate: its own memory (taken from `memory`), where the device has no image of this
    kind over a buffer; it is then kept coherent with the storage by copies, in which the texels are in the storage
    without padding. device: the device that made it.

    whole_at, bound: kept by `Block.is_whole` and by launches.
    """

    spec: ViewSpec
    storage: Storage
    offset: int
    nbytes: int
    layout: Layout | None = None
    format: Format | None = None
    separate: MemoryBlock | None = None
    memory: DeviceMemory | None = None
    device: object = None
    version: int = -1
    released: bool = False
    whole_at: int = -1
    bound: Any = None

    @cached_property
    def shape(self) -> ViewShape:
        return ViewShape(self.spec, self.nbytes, self.layout)

    @property
    def key(self) -> object:
        """The same for views of one block that hold the same elements."""
        return self.offset, self.shape

    @property
    def live(self) -> bool:
        """Neither released nor over freed storage."""
        return self in self.storage.views and self.storage.live

    @property
    def address(self) -> int:
        """Address of the first byte that kernels see."""
        return self.separate.address if self.separate else self.storage.block.address + self.offset

    def release(self) -> None:
        """Give the view up; a separate image hands its texels to the storage first. CL_INVALID_MEM_OBJECT for one that
        was released before; one that ended with its storage may be released still."""
        if self.released:
            raise DeviceError("CL_INVALID_MEM_OBJECT", "the view was released before")
        self.released = True
        self.end()

    def end(self) -> None:
        """Give the view up if that is not done, as where its storage is freed."""
        if self not in self.storage.views:
            return
        if self in self.storage.newest and self.storage.live:
            flush(self)
        self.storage.views.remove(self)
        if self.separate and self.memory:
            self.memory.give_back(self.separate)

    def array(self) -> NDArray:
        """The elements, writable and without a copy: (count,) of a buffer, (layers, height, width, channels) of an image."""
        return self.elements_in(self.block.bytes)

    @property
    def block(self) -> MemoryBlock:
        """The block that holds the view's bytes."""
        return self.separate or self.storage.block

    def marks(self) -> NDArray | None:
        """The marks of the elements' bytes, shaped and typed as `array`; None if none are kept."""
        return None if self.block.valid is None else self.elements_in(self.block.valid)

    def mark(self) -> None:
        """Note that all elements have been written."""
        marks = self.marks()
        if marks is not None:
            _set_all(marks)

    def elements_in(self, memory: Bytes) -> NDArray:
        """The elements in other memory of the block's layout, as `array`."""
        if self.layout is None or self.format is None:
            assert isinstance(self.spec, BufferSpec)
            return np.ndarray((self.spec.count,), self.spec.dtype, memory.data, self.offset)
        return texel_array(memory, self.layout, self.format, 0 if self.separate else self.offset)

    def overlaps(self, other: StorageView) -> bool:
        """Whether the two views share bytes of one storage."""
        return self.offset < other.offset + other.nbytes and other.offset < self.offset + self.nbytes

    def element_range(self, element: int) -> tuple[int, int]:
        """Addresses [low, high) of element number `element` in logical order. IndexError if there is none."""
        elements = self.array()
        if not 0 <= element < elements.size:
            raise IndexError(f"element {element} of {elements.size}")
        index = np.unravel_index(element, elements.shape)
        low = elements.ctypes.data + sum(int(i) * stride for i, stride in zip(index, elements.strides, strict=True))
        return low, low + elements.itemsize


def before_access(view: StorageView) -> None:
    """Make the bytes that `view` sees the newest: other separate images hand over theirs, this one takes the storage's."""
    storage = view.storage
    if not storage.newest and not view.separate:
        return
    for other in [v for v in storage.newest if v is not view and v.overlaps(view)]:
        flush(other)
    if view.separate and view not in storage.newest and view.version != storage.version:
        view.array()[...] = _dense_under(view, storage.bytes)
        _hand_marks(view, to_storage=False)
        view.version = storage.version


def after_write(view: StorageView) -> None:
    """Note that `view` now holds the newest data."""
    storage = view.storage
    if not view.separate:
        storage.version += 1
    elif view not in storage.newest:
        storage.newest.append(view)


def flush(view: StorageView) -> None:
    """Copy a separate image's texels to the storage's bytes."""
    _dense_under(view, view.storage.bytes)[...] = view.array()
    _hand_marks(view, to_storage=True)
    view.storage.newest.remove(view)
    view.storage.version += 1
    view.version = view.storage.version


def copy_marks(source: StorageView, target: StorageView) -> None:
    """Hand on which elements of `source` have been written, after a copy in logical order."""
    known, marks = source.marks(), target.marks()
    if known is not None and marks is not None:
        as_unsigned(marks)[...] = as_unsigned(known).reshape(marks.shape)
        target.block.forget()


def _hand_marks(view: StorageView, to_storage: bool) -> None:
    """Hand on the records of a separate image's texels, or of the storage's."""
    texels, below = view.marks(), view.storage.block.valid
    if texels is None or below is None:
        return
    dense = as_unsigned(_dense_under(view, below))
    if to_storage:
        dense[...] = as_unsigned(texels)
    else:
        as_unsigned(texels)[...] = dense
    (view.storage.block if to_storage else view.block).forget()


def _dense_under(view: StorageView, memory: Bytes) -> NDArray:
    """The texels of a separate image in its storage: row after row, without padding."""
    image = view.array()
    return np.ndarray(image.shape, image.dtype, memory.data, view.offset)
