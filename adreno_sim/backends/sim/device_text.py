"""Reads the text of a simulated device's string without opening the device, for which nothing of the engine is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...base.errors import AdrenoSimError
from ...base.run_options import NAMES, RunOptions, make_options
from ...base.trust.device_string import parse_device_string
from ...profiles import profile
from ...profiles.user_profile import load_profile


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
    chosen, run_options = load_profile(name).with_values(changes), make_options({**(defaults or {}), **given, **options})
    if run_options.counters:
        from ...device.group_sample import require_line

        require_line(chosen, f"sim:{text}")
    return chosen, run_options
