"""Arguments that are pointers into shared virtual memory, and memory that a kernel reaches by pointers which are in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...base.errors import DeviceError
from ...ir.shared_params import add_shared_params
from ...memory.storage import StorageView
from ...records import dataclass
from .program import SimKernel

MOST_KERNELS = 256
"""Kernels that are kept with other parameters than their own."""
MOST_REACHED = 256
"""Allocations that a kernel reaches besides its arguments: a pointer that is loaded is looked up among all."""


@dataclass(frozen=True, eq=False)
class SharedPointer:
    """The byte `offset` of an allocation."""

    view: StorageView
    offset: int


@dataclass(frozen=True, eq=False)
class Reached:
    """An allocation that the launch may access though no argument leads to it."""

    view: StorageView


class SharedKernels:
    """Kernels as launches with such arguments need them, each made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[SimKernel, tuple[int, ...], int], SimKernel] = {}

    def bind(self, kernel: SimKernel, given: Sequence[Any]) -> tuple[SimKernel, list[Any]]:
        """Returns the kernel that takes `given`, and its arguments: views instead of pointers, offsets, and behind them the other
        memory that it reaches. Memory that an argument leads to does not count as other memory. DeviceError CL_OUT_OF_RESOURCES
        for more than the engine looks through.
        """
        pointers = {index: value for index, value in enumerate(given) if isinstance(value, SharedPointer)}
        values = [value.view if isinstance(value, SharedPointer) else value for value in given if not isinstance(value, Reached)]
        moved = tuple(index for index, pointer in pointers.items() if pointer.offset)
        named = {id(value) for value in values}
        reached = [value.view for value in given if isinstance(value, Reached) and id(value.view) not in named]
        if len(reached) > MOST_REACHED:
            reason = (
                f"kernel {kernel.name} reaches {len(reached)} allocations by clSetKernelExecInfo: expected at most {MOST_REACHED}"
            )
            raise DeviceError("CL_OUT_OF_RESOURCES", reason)
        if not moved and not reached:
            return kernel, values
        offsets = [pointers[index].offset.to_bytes(8, "little") for index in moved]
        return self._find(kernel, moved, len(reached)), [*values, *offsets, *reached]

    def _find(self, kernel: SimKernel, moved: tuple[int, ...], reached: int) -> SimKernel:
        key = kernel, moved, reached
        if key not in self._known:
            if len(self._known) >= MOST_KERNELS:
                self._known.clear()
            self._known[key] = replace(kernel, function=add_shared_params(kernel.function, moved, reached))
        return self._known[key]
