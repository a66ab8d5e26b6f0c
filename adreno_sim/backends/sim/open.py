"""Opens a simulated device from the text of a device string."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...base.errors import AdrenoSimError
from ...base.run_options import NAMES, RunOptions, make_options
from ...base.trust.device_string import parse_device_string
from ...device.group_sample import require_line
from ...memory.heap import Heap
from ...profiles import profile
from .device import SimDevice


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


def read_device(text: str, *, defaults: Mapping[str, Any] | None = None, **options: Any) -> tuple[profile.Profile, RunOptions]:
    """The profile and the options that `open_sim` opens. Errors as of it."""
    device = parse_device_string(f"sim:{text}")
    name = device.name or profile.DEFAULT
    given: dict[str, Any] = {}
    changes: dict[str, Any] = {}
    for key, value in device.pairs:
        if key in NAMES:
            given[key] = value
        elif key == "driver":
            name = f"{name},driver={value}"
        elif key == "wave_size":
            changes["wave_sizes"] = profile.parse_value(name, "wave_sizes", value)
        elif key in profile.FIELDS:
            changes[key] = profile.parse_value(name, key, value)
        else:
            known = (*NAMES, "driver", "wave_size", *profile.FIELDS)
            raise AdrenoSimError(f"device sim:{text}: there is no key {key!r}{profile.suggest(key, known)}")
    chosen, run_options = profile.load(name).with_values(changes), make_options({**(defaults or {}), **given, **options})
    if run_options.counters:
        require_line(chosen, f"sim:{text}")
    return chosen, run_options
