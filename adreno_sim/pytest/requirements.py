"""What a test needs of its device (`@pytest.mark.adreno(profile=..., requires=...)`), and why a device has it not."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..base.errors import AdrenoSimError

if TYPE_CHECKING:
    from ..device.protocol import Device, DeviceInfo

FEATURES = {
    "fp16": ("cl_khr_fp16",),
    "fp64": ("cl_khr_fp64",),
    "image2d-from-buffer": ("cl_khr_image2d_from_buffer", "cl_ext_image_from_buffer"),
    "image-from-buffer": ("cl_ext_image_from_buffer",),
    "sub-groups": ("cl_khr_subgroups", "cl_intel_subgroups"),
}
"""Feature -> extensions; one of them is enough."""

ABILITIES = {
    "images": (lambda info: bool(info.limits.get("IMAGE2D_MAX_WIDTH")), "has no images"),
    "checks": (lambda info: info.checks_accesses, "does not check accesses"),
    "stores": (lambda info: info.records_stores, "does not record stores"),
    "simulated": (lambda info: info.backend == "sim", "is not a simulated device"),
    "real": (lambda info: info.backend == "cl", "is a simulated device"),
}
"""Ability -> its test, and what is said of a device that fails it."""


def missing(device: Device, text: str, profile: Any = None, requires: Any = ()) -> str:
    """Why `device`, opened as `text`, does not do for a test; "" if it does.

    profile: a profile's name or pattern ("adreno-7*"), or several: the test runs on these alone. requires: names of
    FEATURES, ABILITIES or OpenCL extensions ("cl_..."). Raises AdrenoSimError for a name that is none of these.
    """
    wanted = _names("profile", profile)
    if wanted and not any(fnmatch.fnmatch(_profile_of(text), pattern) for pattern in wanted):
        return f"needs profile {' or '.join(wanted)}, the device is {text}"
    for name in _names("requires", requires):
        if reason := _lacks(device.info, name):
            return f"needs {name}: {device.info.name} {reason}"
    return ""


def _names(what: str, given: Any) -> list[str]:
    if given is None:
        return []
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(name, str) for name in names):
        raise AdrenoSimError(f"marker adreno: {what}={given!r}: expected a name or several")
    return names


def _profile_of(text: str) -> str:
    backend, _, rest = text.partition(":")
    return rest.partition(",")[0] if backend == "sim" else text


def _lacks(info: DeviceInfo, name: str) -> str:
    if name in ABILITIES:
        has, reason = ABILITIES[name]
        return "" if has(info) else reason
    if name not in FEATURES and not name.startswith("cl_"):
        known = ", ".join([*FEATURES, *ABILITIES])
        raise AdrenoSimError(f"marker adreno: requires {name!r}: expected {known}, or an OpenCL extension (cl_...)")
    extensions = FEATURES.get(name, (name,))
    return "" if info.extensions.intersection(extensions) else f"has no {' or '.join(extensions)}"
