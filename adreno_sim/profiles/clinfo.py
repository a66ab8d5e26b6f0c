"""A device profile from the output of `clinfo`, or of `clinfo --json`, on the real device.

What the dump says is marked "given"; what clinfo cannot say (the pitch rule, or a value the driver leaves out) is inferred
from the built-in profile of the same Adreno number, else from the common block with the dump's own wave size.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..base.bounded_read import LIMIT, explain_unreadable, read_json, read_text
from ..base.errors import AdrenoSimError
from . import profile
from .clinfo_text import parse_text

_FLAG_SETS = ("SINGLE_FP_CONFIG", "HALF_FP_CONFIG", "DOUBLE_FP_CONFIG", "SVM_CAPABILITIES")


def from_clinfo(path: Path) -> profile.Profile:
    """The profile of the first device in the dump at `path`. Raises AdrenoSimError on a file that is not such a dump."""
    device = _from_json(path) if path.suffix == ".json" else _from_text(path)
    values = {key: _value(path, key, device[f"CL_DEVICE_{key}"]) for key in profile.FIELDS if f"CL_DEVICE_{key}" in device}
    values |= _texts(path, device)
    base, wave = _base(values), device.get("CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE", 0)
    if base is None:
        base = profile.load(profile.DEFAULT).with_values({"wave_sizes": [wave]} if isinstance(wave, int) and wave > 0 else {})
    checked = replace(base, name=str(path)).with_values(values)
    marks = {key: "given" if key in values else "inferred" for key in profile.FIELDS}
    origins = {key: str(path) if key in values else f"as {base.name}: {base.origins[key]}" for key in profile.FIELDS}
    return profile.Profile(path.stem, checked.values, marks, origins)


def find_base(values: Mapping[str, Any]) -> str:
    """The built-in profile that is nearest to a device: its chip under its driver, or under the chip's own; "" without one."""
    number = re.search(r"Adreno\(TM\) (X?\d[\w-]*)|^FD(\d+)", f"{values['device_name']} {values['device_version']}")
    name = f"adreno-{(number[1] or number[2]).lower()}" if number else ""
    if name not in profile.names():
        return ""
    version = re.search(r"\b((?:E\d+|DX)(?:\.\d+)+)", values.get("driver_version", ""))
    driver = "mesa" if number and number[2] else version[1] if version else ""
    try:
        return profile.load(f"{name},driver={driver}" if driver else name).name
    except AdrenoSimError:
        return name


def _base(values: Mapping[str, Any]) -> profile.Profile | None:
    name = find_base(values)
    return profile.load(name) if name else None


def _from_text(path: Path) -> Mapping[str, Any]:
    try:
        device = parse_text(read_text(path))
    except (OSError, UnicodeDecodeError) as error:
        raise AdrenoSimError(f"clinfo dump {path}: cannot be read: {explain_unreadable(error)}") from None
    if "CL_DEVICE_NAME" not in device or "CL_DEVICE_VERSION" not in device:
        raise AdrenoSimError(
            f"clinfo dump {path}: expected the output of `clinfo`, with Device Name and Device Version of a device"
        )
    return device


def _from_json(path: Path) -> Mapping[str, Any]:
    try:
        dump = read_json(path, LIMIT)
    except (OSError, ValueError) as error:
        raise AdrenoSimError(f"clinfo dump {path}: cannot be read: {explain_unreadable(error)}") from None
    try:
        devices = [device for platform in dump["devices"] for device in platform.get("online", [])]
        device = dict(devices[0])
        device["CL_DEVICE_NAME"], device["CL_DEVICE_VERSION"]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise AdrenoSimError(f"clinfo dump {path}: expected the output of `clinfo --json` with at least one device") from None
    platforms = dump.get("platforms")
    if isinstance(platforms, list) and platforms and isinstance(platforms[0], dict):
        device |= {key: value for key, value in platforms[0].items() if key.startswith("CL_PLATFORM_")}
    return device


def _value(path: Path, key: str, value: Any) -> Any:
    """clinfo writes a set of flags as {"raw": n, "config": [names]} with their full names."""
    if key in _FLAG_SETS:
        names = value.get("config", []) if isinstance(value, dict) else []
        if not isinstance(names, list):
            raise AdrenoSimError(f"clinfo dump {path}: CL_DEVICE_{key}: expected a list of flags, got {names!r}")
        return [str(name).removeprefix("CL_FP_").removeprefix("CL_DEVICE_SVM_") for name in names]
    return value


def _texts(path: Path, device: Mapping[str, Any]) -> dict[str, Any]:
    version = re.match(r"OpenCL (\d\.\d)", str(device["CL_DEVICE_VERSION"]))
    if not version:
        raise AdrenoSimError(f"clinfo dump {path}: CL_DEVICE_VERSION {device['CL_DEVICE_VERSION']!r}: expected 'OpenCL N.N ...'")
    texts: dict[str, Any] = {"opencl": version[1]}
    for key, name in (
        ("device_name", "CL_DEVICE_NAME"), ("device_version", "CL_DEVICE_VERSION"), ("vendor", "CL_DEVICE_VENDOR"),
        ("opencl_c_version", "CL_DEVICE_OPENCL_C_VERSION"), ("driver_version", "CL_DRIVER_VERSION"),
        ("platform_name", "CL_PLATFORM_NAME"), ("platform_version", "CL_PLATFORM_VERSION"),
    ):  # fmt: skip
        if name in device:
            texts[key] = str(device[name])
    if path.suffix == ".json" or "CL_DEVICE_EXTENSIONS" in device:
        texts["extensions"] = str(device.get("CL_DEVICE_EXTENSIONS", "")).split()
    if isinstance(device.get("CL_DEVICE_VENDOR_ID"), int):
        texts["vendor_id"] = device["CL_DEVICE_VENDOR_ID"]
    if isinstance(device.get("CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT"), bool):
        texts["non_uniform_work_groups"] = device["CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT"]
    return texts
