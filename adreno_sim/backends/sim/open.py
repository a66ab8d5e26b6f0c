"""Opens a simulated device from the text of a device string."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...memory.heap import Heap
from .device import SimDevice
from .device_text import read_device


def open_sim(
    text: str = "",
    *,
    make_heap: Callable[[int], Heap] | None = None,
    defaults: Mapping[str, Any] | None = None,
    **options: Any,
) -> SimDevice:
    """Open `PROFILE[,key=value...]`: a built-in profile, or the path of a .toml profile or of a clinfo dump (.json, .txt).

    make_heap: called with the bytes of the device's memory, makes the heap in which all of it lies.
    Keys are RunOptions fields, profile fields, driver (of a built-in profile), or wave_size (one sub-group size).
    Keyword options go before keys, and these
    before `defaults`.
    Raises AdrenoSimError naming what exists.
    """
    chosen, run_options = read_device(text, defaults=defaults, **options)
    heap = make_heap(chosen["GLOBAL_MEM_SIZE"]) if make_heap else None
    return SimDevice(chosen, run_options, heap)
