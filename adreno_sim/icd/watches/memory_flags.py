"""Buffers that a launch writes though they were made CL_MEM_READ_ONLY, or reads though they were made CL_MEM_WRITE_ONLY."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...backends.sim.launches.launch_config import PreparedLaunch
from ...backends.sim.launches.touched_bytes import find_touched_bytes
from ...findings import Finding, Kind
from ...ir.mod_ref import read_arguments, written_arguments
from ..objects import Objects

WRITE_ONLY, READ_ONLY = 1 << 1, 1 << 2
"""Flags of OpenCL."""
_MOST_ITEMS = 1 << 24
"""Work-items of launches, of a session, that run once more for this."""


class MemoryFlags:
    """Compares launches with the flags of their buffers. Images are compared when an argument is set. A launch whose code may go
    against a flag runs once more without effect, because the code may be in a branch that the launch does not take."""

    def __init__(self, objects: Objects):
        self._objects = objects
        self._items_left = _MOST_ITEMS
        self._known: set[tuple[str, str, int]] = set()

    def find(self, launch: PreparedLaunch) -> Iterator[Finding | str]:
        """Before a launch: a finding for each argument, once for each kernel; in words what is not known."""
        name, suspects = launch.kernel.name, self._find_suspects(launch)
        if not suspects:
            return
        items = int(np.prod(launch.config.total, dtype=np.float64))
        self._items_left -= items
        touched = find_touched_bytes(launch, self._objects.device.options, has_run=False) if self._items_left >= 0 else None
        if touched is None:
            yield f"whether kernel {name} accesses buffers against the flags that they were made with: this takes too long"
            return
        for index, writes in suspects:
            read, written = touched[index]
            if not (written if writes else read).any():
                continue
            self._known.add((launch.kernel.source, name, index))
            verb, flag = ("writes", "CL_MEM_READ_ONLY") if writes else ("reads", "CL_MEM_WRITE_ONLY")
            param = launch.kernel.params[index].name
            number = self._objects.number_of(launch.args[index])
            call, frames = self._objects.find_maker(number)
            made = {"argument": param, "memory": number, "call": call, "where": list(frames)}
            message = f"{name} {verb} {param}, a buffer that was made {flag}: the result is undefined"
            yield Finding(Kind.AGAINST_MEMORY_FLAGS, message, name, detail={"made": made} if call else {})

    def _find_suspects(self, launch: PreparedLaunch) -> list[tuple[int, bool]]:
        """The arguments that the code may access against their flags, each with whether it writes them."""
        found = []
        for index in launch.config.views if launch.config.analysis is not None else ():
            view = launch.args[index]
            flags = self._objects.flags_of(view) if view.layout is None else 0
            if not flags & (READ_ONLY | WRITE_ONLY) or (launch.kernel.source, launch.kernel.name, index) in self._known:
                continue
            writes = bool(flags & READ_ONLY)
            if index in (written_arguments if writes else read_arguments)(launch.kernel.function):
                found.append((index, writes))
        return found
