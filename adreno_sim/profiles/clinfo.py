"""A device profile from the output of `clinfo --json` on the real device.

What the dump says is marked "given"; what clinfo cannot say (the pitch rule, or a value the driver leaves out) is inferred
from the built-in profile of the same Adreno number, else from the common block with the dump's own wave size.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..base.bounded_read import LIMIT, read_json
from ..base.errors import AdrenoSimError
from . import profile

_FP_CONFIGS = ("SINGLE_FP_CONFIG", "HALF_FP_CONFIG", "DOUBLE_FP_CONFIG")


def from_clinfo(path: Path) -> profile.Profile:
    """The profile of the first device in the dump at `path`. Raises AdrenoSimError on a file that is not such a dump."""
    device = _first_device(path)
    values = {key: _value(path, key, device[f"CL_DEVICE_{key}"]) for key in profile.FIELDS if f"CL_DEVICE_{key}" in device}
    values |= _texts(path, device)
    base = _base(values["device_name"] + " " + values["device_version"])
    if base is None:
        wave = device.get("CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE", 0)
        base = profile.load(profile.DEFAULT).with_values({"wave_sizes": [wave]} if isinstance(wave, int) and wave > 0 else {})
    checked = replace(base, name=str(path)).with_values(values)
    marks = {key: "given" if key in values else "inferred" for key in profile.FIELDS}
    return profile.Profile(path.stem, checked.values, marks)


def _first_device(path: Path) -> Mapping[str, Any]:
    try:
        dump = read_json(path, LIMIT)
    except (OSError, ValueError) as error:
        raise AdrenoSimError(f"clinfo dump {path}: cannot be read: {error}") from None
    try:
        devices = [device for platform in dump["devices"] for device in platform.get("online", [])]
        device = devices[0]
        device["CL_DEVICE_NAME"], device["CL_DEVICE_VERSION"]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise AdrenoSimError(f"clinfo dump {path}: expected the output of `clinfo --json` with at least one device") from None
    return device


def _value(path: Path, key: str, value: Any) -> Any:
    """clinfo writes a set of flags as {"raw": n, "config": [names]} with their full names."""
    if key in _FP_CONFIGS:
        names = value.get("config", []) if isinstance(value, dict) else []
        if not isinstance(names, list):
            raise AdrenoSimError(f"clinfo dump {path}: CL_DEVICE_{key}: expected a list of flags, got {names!r}")
        return [str(name).removeprefix("CL_FP_") for name in names]
    return value


def _texts(path: Path, device: Mapping[str, Any]) -> dict[str, Any]:
    version = re.match(r"OpenCL (\d\.\d)", str(device["CL_DEVICE_VERSION"]))
    if not version:
        raise AdrenoSimError(f"clinfo dump {path}: CL_DEVICE_VERSION {device['CL_DEVICE_VERSION']!r}: expected 'OpenCL N.N ...'")
    texts: dict[str, Any] = {
        "opencl": version[1],
        "device_name": str(device["CL_DEVICE_NAME"]),
        "device_version": str(device["CL_DEVICE_VERSION"]),
        "extensions": str(device.get("CL_DEVICE_EXTENSIONS", "")).split(),
    }
    if "CL_DRIVER_VERSION" in device:
        texts["driver_version"] = str(device["CL_DRIVER_VERSION"])
    if isinstance(device.get("CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT"), bool):
        texts["non_uniform_work_groups"] = device["CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT"]
    return texts


def _base(text: str) -> profile.Profile | None:
    number = re.search(r"Adreno\(TM\) (X?\d[\w-]*)", text)
    name = f"adreno-{number[1].lower()}" if number else ""
    return profile.load(name) if name in profile.names() else None
