"""A pool of device buffers, as in TVM's OpenCL runtime: sizes rounded up to pages, exact size only, last freed first."""

from __future__ import annotations

from typing import Any

import pyopencl as cl

from ...base.alignment import align_up
from ...device.protocol import PoolStats
from ...memory.storage import PAGE
from .errors import code_name, device_errors

FULL = ("CL_MEM_OBJECT_ALLOCATION_FAILURE", "CL_OUT_OF_RESOURCES", "CL_OUT_OF_HOST_MEMORY")


class BufferPool:
    """Every buffer of the driver is in use, or free and listed under its size in bytes."""

    def __init__(self, context: cl.Context, max_alloc: int):
        self.context, self.max_alloc = context, max_alloc
        self._kept: dict[int, list[cl.Buffer]] = {}
        self._used = self._reserved = self._peak_used = self._peak_reserved = 0

    def take(self, nbytes: int) -> cl.Buffer:
        """A buffer of at least `nbytes`. Raises DeviceError with the driver's code; a full device is asked twice."""
        size = min(align_up(nbytes, PAGE), max(nbytes, self.max_alloc))
        kept = self._kept.get(size)
        buffer = kept.pop() if kept else self._create(size)
        self._used += buffer.size
        self._peak_used = max(self._peak_used, self._used)
        self._peak_reserved = max(self._peak_reserved, self._reserved)
        return buffer

    def give(self, buffer: cl.Buffer) -> None:
        """Take a buffer back."""
        self._used -= buffer.size
        self._kept.setdefault(buffer.size, []).append(buffer)

    def stats(self) -> PoolStats:
        return PoolStats(self._used, self._reserved, self._peak_used, self._peak_reserved)

    def _create(self, size: int) -> Any:
        try:
            buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size)
        except cl.Error as error:
            if code_name(error) in FULL:
                self._release_free()
            with device_errors(f"a buffer of {size} bytes"):
                buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size)
        self._reserved += buffer.size
        return buffer

    def _release_free(self) -> None:
        for buffers in self._kept.values():
            for buffer in buffers:
                self._reserved -= buffer.size
                buffer.release()
        self._kept.clear()
