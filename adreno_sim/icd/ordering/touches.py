"""What a command touches of memory: a range of each memory that holds all of it, and, where it is asked for, which bytes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from ...backends.sim.device import SimDevice
from ...backends.sim.launches.touched_bytes import find_touched_bytes
from ...engine.run.counted import Touched
from ...ir.data_dependence import accesses_depend_on_memory
from ...ir.mod_ref import atomic_arguments, read_arguments, written_arguments
from ...memory.region import Box
from ...memory.storage import MemoryBlock, StorageView
from ...records import dataclass
from ..launches import DriverLaunch

Bytes = NDArray[np.bool_]


@dataclass(eq=False)
class Touch:
    """What a command touches through one view: bytes `low` to `high` of its block at most, by atomic operations if `atomic`.

    box: of a transfer, whose bytes these are exactly. index: of a launch's argument.
    """

    view: StorageView
    low: int
    high: int
    reads: bool
    writes: bool
    atomic: bool = False
    box: Box | None = None
    index: int = 0

    @property
    def block(self) -> MemoryBlock:
        return self.view.block


@dataclass(eq=False)
class TouchingCommand:
    """A command that touches memory. what: in words. key: equal for commands that touch the same bytes.

    touched: of a launch, once it is known (None: it is not), or was looked for.
    """

    number: int
    call: int
    thread: int
    queue: int
    what: str
    key: Hashable
    touches: list[Touch]
    launch: DriverLaunch | None = None
    has_run: bool = False
    looked: bool = False
    touched: Touched | None = field(default=None)

    def find(self, touch: Touch, low: int, high: int) -> tuple[Bytes, Bytes] | None:
        """Returns for each byte from `low` to `high` of the touch's block whether it is read, and whether it is written; None
        if that is not known. `look` comes before it for a launch."""
        if touch.box is not None:
            inside = _bytes_of_box(touch, low, high)
            none = np.zeros_like(inside)
            return (none, inside) if touch.writes else (inside, none)
        if self.touched is None:
            return None
        start = 0 if touch.view.separate else touch.view.offset
        read, written = self.touched[touch.index]
        return _unpack(read, low - start, high - start), _unpack(written, low - start, high - start)

    @property
    def is_repeatable(self) -> bool:
        """Whether all commands of this key touch the same bytes."""
        return self.launch is None or not accesses_depend_on_memory(self.launch.kernel.function)

    @property
    def kept_bytes(self) -> int:
        """Bytes that it takes to know what a launch touched."""
        return sum(bits.nbytes for both in (self.touched or {}).values() for bits in both)

    def look(self, device: SimDevice) -> None:
        """Find out which bytes a launch touches."""
        if not self.looked and self.launch is not None and self.launch.prepared is not None:
            self.touched = find_touched_bytes(self.launch.prepared, device.options, has_run=self.has_run)
        self.looked = True


def touches_of_launch(launch: DriverLaunch) -> list[Touch]:
    """Returns what a prepared launch may touch."""
    prepared = launch.prepared
    assert prepared is not None
    function, analysis = launch.kernel.function, prepared.config.analysis
    reads, writes, atomics = read_arguments(function), written_arguments(function), atomic_arguments(function)
    found = []
    for index in prepared.config.views if analysis is not None else ():
        view = prepared.args[index]
        start = 0 if view.separate else view.offset
        nbytes = view.layout.nbytes if view.layout is not None else view.nbytes
        found.append(Touch(view, start, start + nbytes, index in reads, index in writes, index in atomics, index=index))
    return found


def narrow(command: TouchingCommand) -> None:
    """Make the ranges of a launch those that its accesses are proven to stay in."""
    launch = command.launch
    if launch is None or launch.prepared is None or launch.prepared.config.analysis is None:
        return
    accessed = launch.prepared.config.analysis.accessed
    for touch in command.touches:
        known = accessed.get(touch.index)
        if known is None or touch.view.layout is not None:
            continue
        start = 0 if touch.view.separate else touch.view.offset
        low, high = known.any or (0, 0)
        touch.low, touch.high = start + low, start + high
        touch.reads, touch.writes = known.read is not None, known.written is not None


def touch_of_box(box: Box, writes: bool) -> Touch:
    """Returns what a transfer touches."""
    assert box.view is not None
    low = box.bytes.__array_interface__["data"][0] - box.view.block.address
    steps = (max(0, count - 1) * stride for count, stride in zip(box.bytes.shape, box.bytes.strides, strict=True))
    return Touch(box.view, low, low + sum(steps) + 1, not writes, writes, box=box)


def _bytes_of_box(touch: Touch, low: int, high: int) -> Bytes:
    """For each byte from `low` to `high` whether it is in the box."""
    assert touch.box is not None
    array = touch.box.bytes
    if array.shape[0] * array.shape[1] == 1:
        return np.ones(high - low, bool)
    whole = np.zeros(touch.high - touch.low, bool)
    np.lib.stride_tricks.as_strided(whole, array.shape, array.strides)[...] = True
    return whole[low - touch.low : high - touch.low]


def _unpack(bits: NDArray[np.uint8], low: int, high: int) -> Bytes:
    """Bits `low` to `high`, the lowest of a byte first."""
    first = low // 8
    found = np.unpackbits(bits[first : -(-high // 8)], bitorder="little")
    return found[low - 8 * first : high - 8 * first].astype(bool)
