"""Memory pools: how a runtime keeps freed device memory for the next allocation.

paged   TVM's OpenCL pooled allocator (the default): sizes rounded up to pages, a free block is reused only for exactly its
        size, last freed first; nothing returns to the device until an allocation fails, then everything does and
        the allocation is tried once more.
none    every storage is an allocation of its own, and returns to the device at once.
legacy  as paged, but storages of 2D images come from the texture pool of TVM up to 0.19, which grows free textures to fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..base.alignment import align_up
from ..base.errors import DeviceError
from .storage import Bytes, DeviceMemory, MemoryBlock, Storage

KINDS = ("paged", "none", "legacy")

_T = TypeVar("_T")
_Extents = tuple[int, int]


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


@dataclass(eq=False)
class Texture:
    """A 2D texture of the legacy pool, in texels; `code` is its dtype without the width ("float", "int", "uint")."""

    width: int
    height: int
    code: str
    block: MemoryBlock


class TexturePool:
    """The legacy pool: a free texture of the same code is reused, grown to the larger of both extents where it must be.

    A free texture is passed over if either extent differs more than FACTOR-fold (integer division). Among the others,
    one replaces the best so far if it adds less than it in x or in y, or adds the same and wastes less there: per axis,
    so that the outcome depends on the order of the free list.
    """

    FACTOR = 5

    def __init__(self, memory: DeviceMemory):
        self.memory = memory
        self.used = self.kept = 0
        self._free: list[Texture] = []
        self._given: dict[Storage, Texture] = {}

    def allocate(self, width: int, height: int, code: str, nbytes: Callable[[int, int], int]) -> Storage:
        """Storage of a texture of at least width x height texels; `nbytes(w, h)` is the size of one in memory."""
        texture = self._best(width, height, code)
        if texture is None:
            texture = Texture(width, height, code, self.memory.take(nbytes(width, height)))
        else:
            self._free.remove(texture)
            self.kept -= texture.block.nbytes
            self._grow(texture, max(texture.width, width), max(texture.height, height), nbytes)
        self.used += texture.block.nbytes
        storage = Storage(nbytes(texture.width, texture.height), texture.block, extents=(texture.width, texture.height))
        self._given[storage] = texture
        return storage

    def owns(self, storage: Storage) -> bool:
        return storage in self._given

    def free(self, storage: Storage) -> None:
        """Take back a storage of this pool; its bytes are poisoned."""
        texture = self._given.pop(storage)
        texture.block.poison()
        self.used -= texture.block.nbytes
        self.kept += texture.block.nbytes
        self._free.append(texture)

    def release_all(self) -> None:
        """Return every free texture to the device."""
        for texture in self._free:
            self.memory.give_back(texture.block)
        self._free.clear()
        self.kept = 0

    def _grow(self, texture: Texture, width: int, height: int, nbytes: Callable[[int, int], int]) -> None:
        texture.width, texture.height = width, height
        if nbytes(width, height) > texture.block.nbytes:
            self.memory.give_back(texture.block)
            texture.block = self.memory.take(nbytes(width, height))

    def _best(self, width: int, height: int, code: str) -> Texture | None:
        best: Texture | None = None
        best_added = best_wasted = (0, 0)
        for texture in self._free:
            if texture.code != code or self._too_different(texture, width, height):
                continue
            grown = (max(texture.width, width), max(texture.height, height))
            added = (grown[0] - texture.width, grown[1] - texture.height)
            wasted = (grown[0] - width, grown[1] - height)
            if best is None or any(_better(axis, added, wasted, best_added, best_wasted) for axis in (0, 1)):
                best, best_added, best_wasted = texture, added, wasted
        return best

    def _too_different(self, texture: Texture, width: int, height: int) -> bool:
        pairs = ((texture.width, width), (width, texture.width), (texture.height, height), (height, texture.height))
        return any(a // b > self.FACTOR for a, b in pairs)


def _better(axis: int, added: _Extents, wasted: _Extents, best_added: _Extents, best_wasted: _Extents) -> bool:
    """Whether one axis alone prefers the new candidate."""
    if best_added[axis] > 0 and added[axis] < best_added[axis]:
        return True
    return added[axis] == best_added[axis] and wasted[axis] < best_wasted[axis]
