"""Memory pools: how a runtime keeps freed device memory for the next allocation.

paged   TVM's OpenCL pooled allocator (the default): sizes rounded up to pages, a free block is reused only for exactly its
        size, last freed first; nothing returns to the device until an allocation fails, then everything does and
        the allocation is tried once more.
none    every storage is a separate allocation, and returns to the device at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..base.alignment import align_up
from ..base.errors import DeviceError
from .storage import Bytes, DeviceMemory, MemoryBlock, Storage

_T = TypeVar("_T")


class PagedPool:
    """Exact-size reuse. Every block taken from `memory` is either in use or in `_free` under its size.

    used: bytes of blocks given out. kept: bytes of blocks kept free.
    """

    def __init__(self, memory: DeviceMemory, page: int, keep: bool = True):
        self.memory, self.page, self.keep = memory, page, keep
        self.used = self.kept = 0
        self._free: dict[int, list[MemoryBlock]] = {}

    def allocate(self, nbytes: int) -> Storage:
        """Storage of `nbytes`. Raises DeviceMemory.take's errors when neither the pool nor the device has it."""
        size = align_up(nbytes, self.page)
        blocks = self._free.get(size)
        if blocks:
            block = blocks.pop()
            self.kept -= size
        else:
            block = self.retry_after_release(lambda: self.memory.take(size))
        self.used += block.nbytes
        return Storage(nbytes, block)

    def borrow(self, pages: Bytes, nbytes: int) -> Storage:
        """Storage of `nbytes` at the start of the caller's pages. Raises DeviceMemory.borrow's errors."""
        block = self.retry_after_release(lambda: self.memory.borrow(pages))
        self.used += block.nbytes
        return Storage(nbytes, block)

    def free(self, storage: Storage) -> None:
        """Take back a storage of this pool; its bytes are poisoned, unless they are the caller's."""
        block = storage.block
        self.used -= block.nbytes
        if not self.keep or block.borrowed:
            self.memory.give_back(block)
            return
        block.poison()
        self._free.setdefault(block.nbytes, []).append(block)
        self.kept += block.nbytes

    def release_all(self) -> None:
        """Return every free block to the device."""
        for blocks in self._free.values():
            for block in blocks:
                self.memory.give_back(block)
        self._free.clear()
        self.kept = 0

    def retry_after_release(self, take: Callable[[], _T]) -> _T:
        """`take()`; if the device is full, once more after releasing what the pool keeps."""
        try:
            return take()
        except DeviceError as error:
            if error.code != "CL_MEM_OBJECT_ALLOCATION_FAILURE" or not self.kept:
                raise
        self.release_all()
        return take()
