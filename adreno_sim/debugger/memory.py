"""The memory that a debugger reads while a launch waits: arguments, local memory, private objects. Nothing else is read."""

from __future__ import annotations

import ctypes

from ..backends.sim.debugging import DebugLaunch
from ..engine.abi import debugging as abi
from ..memory.storage import StorageView
from ..records import dataclass
from .values import DebugError


@dataclass(frozen=True)
class Range:
    """Memory of the launch: what it is called, where it lies, and what it is ("argument", "local" or "private")."""

    name: str
    address: int
    nbytes: int
    kind: str


class LaunchMemory:
    """The memory of one launch. names: of its arguments."""

    def __init__(self, launch: DebugLaunch, names: list[str]):
        self._launch, self._names = launch, names

    def ranges(self) -> list[Range]:
        """Returns all memory there is at this moment."""
        launch = self._launch
        found = [
            Range(name, arg.address, arg.nbytes, "argument")
            for name, arg in zip(self._names, launch.args, strict=True)
            if isinstance(arg, StorageView)
        ]
        words = launch.run.words
        if words[abi.DEBUG_MEMORY] and not launch.run.ended:
            memory = int(words[abi.DEBUG_MEMORY])
            for key, (offset, nbytes) in launch.run.table.locals.items():
                name = self._names[key] if isinstance(key, int) else key.rpartition(".")[2]
                found.append(Range(name, memory + offset, nbytes, "local"))
            for slot in launch.run.table.slots:
                variable = launch.info.variable(slot.variable)
                if slot.in_memory and variable is not None:
                    start, size = int(words[abi.DEBUG_ARENA]) + slot.offset, slot.stride * launch.run.table.items
                    found.append(Range(variable.name, start, size, "private"))
        return found

    def range_at(self, address: int) -> Range | None:
        """Returns the memory that holds the byte at an address."""
        inside = (r for r in self.ranges() if r.address <= address < r.address + r.nbytes)
        return next(inside, None)

    def read(self, address: int, nbytes: int) -> bytes:
        """Returns bytes of the launch. DebugError for bytes that are not part of its memory."""
        found = self.range_at(address)
        if found is None:
            raise DebugError(f"address {address:#x} lies in no argument, and in no local or private memory of the group")
        if address + nbytes > found.address + found.nbytes:
            raise DebugError(f"{nbytes} bytes from byte {address - found.address} of {found.name}, which has {found.nbytes}")
        return ctypes.string_at(address, nbytes)

    def find_argument(self, name: str) -> int | None:
        """Returns the position of an argument."""
        return self._names.index(name) if name in self._names else None
