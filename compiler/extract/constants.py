"""A pool of a model's constants; equal constants share one entry."""

from __future__ import annotations

import hashlib

import numpy as np

from ...memory.spilled import drop_resident_pages, spill


class ConstantPool:
    """Keys of constants, in the order of first use; arrays with equal type, shape and bytes share one key."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._keys: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def add(self, array: np.ndarray) -> str:
        """The key of `array`, which nobody changes any more."""
        dense = np.ascontiguousarray(array).reshape(array.shape)
        digest = hashlib.blake2b(dense.reshape(-1).view(np.uint8).data, digest_size=16).digest()
        identity = (dense.dtype.str, dense.shape, digest)
        if identity not in self._keys:
            self._keys[identity] = f"constant_{len(self._keys)}"
            kept = self.arrays[self._keys[identity]] = spill(dense)
            kept.flags.writeable = False
            drop_resident_pages()
        return self._keys[identity]
