"""What a profile says: its keys, the types of their values, and how a value is read from a file or from a device string."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..base.errors import AdrenoSimError
from .bounds import ATOMIC_ALIGNMENTS, WIDTHS, find_wrong_value
from .rates import RATES

_INT, _INTS, _TEXT, _TEXTS, _BOOL = "an integer", "a list of integers", "a string", "a list of strings", "true or false"

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "opencl": _TEXT,  # version of the device, "2.0" or "3.0"
        "platform_name": _TEXT,
        "platform_version": _TEXT,  # of newer drivers 3.0, whatever the device has
        "vendor": _TEXT,
        "device_name": _TEXT,
        "device_version": _TEXT,
        "driver_version": _TEXT,  # what the driver calls itself; programs look for the compiler's number in it
        "opencl_c_version": _TEXT,
        "extensions": _TEXTS,
        "compiler_extensions": _TEXTS,  # what the kernel compiler takes though the device does not list it
        "pitch_rule": _TEXT,  # of images over buffers, one of PITCH_RULES; see base.pitch_rules
        "own_pitch_rule": _TEXT,  # of images with their own memory
        "wave_sizes": _INTS,  # full and half wave; the first is the sub-group size
        "sub_group_rule": _TEXT,  # which of them a kernel has that asks for none: "full", or "by_type" of what it computes with
        "page_size": _INT,  # bytes to which the pool rounds
        "non_uniform_work_groups": _BOOL,
        "SINGLE_FP_CONFIG": _TEXTS,
        "HALF_FP_CONFIG": _TEXTS,
        "DOUBLE_FP_CONFIG": _TEXTS,
        "SVM_CAPABILITIES": _TEXTS,  # the driver offers all but FINE_GRAIN_SYSTEM
        "MAX_WORK_ITEM_SIZES": _INTS,
    }
    | dict.fromkeys(
        (
            "vendor_id",
            "IMAGE2D_MAX_WIDTH", "IMAGE2D_MAX_HEIGHT", "IMAGE3D_MAX_WIDTH", "IMAGE3D_MAX_HEIGHT", "IMAGE3D_MAX_DEPTH",
            "IMAGE_MAX_ARRAY_SIZE", "IMAGE_MAX_BUFFER_SIZE", "IMAGE_PITCH_ALIGNMENT", "IMAGE_BASE_ADDRESS_ALIGNMENT",
            "MAX_READ_IMAGE_ARGS", "MAX_WRITE_IMAGE_ARGS", "MAX_READ_WRITE_IMAGE_ARGS", "MAX_SAMPLERS",
            "MAX_WORK_GROUP_SIZE", "LOCAL_MEM_SIZE", "MAX_CONSTANT_BUFFER_SIZE", "MAX_CONSTANT_ARGS",
            "MAX_PARAMETER_SIZE", "MEM_BASE_ADDR_ALIGN", "GLOBAL_MEM_CACHELINE_SIZE", "GLOBAL_MEM_CACHE_SIZE",
            "GLOBAL_MEM_SIZE", "MAX_MEM_ALLOC_SIZE", "MAX_COMPUTE_UNITS", "ADDRESS_BITS",
            "PROFILING_TIMER_RESOLUTION",  # nanoseconds
            *ATOMIC_ALIGNMENTS,
            *WIDTHS,
            "ONCHIP_GLOBAL_MEM_SIZE",  # of cl_qcom_onchip_global_memory
            "kernel_group_limit",  # work-items of a group of any kernel; 0 = what its registers leave room for
            "ml_interface",  # newest version of cl_qcom_ml_ops, 1 to 5; 0 = none
            "ml_gflops", "kernel_gflops", "memory_mbps", "ml_start_ns", "kernel_start_ns",  # see mlops.capabilities
            *RATES,
        ),
        _INT,
    )
)  # fmt: skip
"""Every key of a profile and what its value must be. Upper-case keys are OpenCL's, without CL_DEVICE_."""

EDITS = ("more_extensions", "without_extensions")
"""Keys that change the list of extensions inherited."""

DEFAULTS: Mapping[str, Any] = {
    "platform_name": "QUALCOMM Snapdragon(TM)",
    "platform_version": "OpenCL {opencl} QUALCOMM build: adreno-sim",
    "vendor": "QUALCOMM",
    "vendor_id": 0x5143,
    "driver_version": "OpenCL {opencl} {name}",
    "opencl_c_version": "OpenCL C {opencl} {name}",
    "sub_group_rule": "full",
    "kernel_group_limit": 0,
    "SVM_CAPABILITIES": (),
    "PROFILING_TIMER_RESOLUTION": 1000,
    **dict.fromkeys(ATOMIC_ALIGNMENTS, 0),
    **dict.fromkeys(WIDTHS, 1),
    **RATES,
}
"""What a profile that names no base has where it does not say; its other keys are required."""


def suggest(name: str, known: Any) -> str:
    """ " (did you mean ...?)" for names close to a wrong one, else nothing."""
    close = difflib.get_close_matches(name, list(dict.fromkeys(known)), n=2)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def parse_value(profile: str, key: str, text: str) -> Any:
    """Parse `text` of a device string as the type of `key`; '+' separates the items of a list."""
    kind = FIELDS.get(key)
    if kind is None:
        raise AdrenoSimError(f"device profile {profile}: there is no field {key!r}{suggest(key, FIELDS)}")
    try:
        if kind == _INT:
            return int(text, 0)
        if kind == _INTS:
            return [int(part, 0) for part in text.split("+")]
        if kind == _TEXTS:
            return [part for part in text.split("+") if part]
        return {"true": True, "false": False}[text.lower()] if kind == _BOOL else text
    except (ValueError, KeyError):
        raise AdrenoSimError(f"device profile {profile}: {key}={text}: expected {kind}") from None


def apply_value(name: str, key: str, value: Any, values: dict[str, Any]) -> str:
    """Put a value, or an edit of the list of extensions, into `values`. Returns the key that changed; AdrenoSimError on a wrong
    key or value."""
    if key not in EDITS:
        values[key] = check_value(name, key, value)
        return key
    edit = _check_type(name, key, value, _TEXTS)
    if wrong := find_wrong_value("extensions", edit):
        raise AdrenoSimError(f"device profile {name}: {key}: {wrong}")
    old = tuple(values.get("extensions", ()))
    values["extensions"] = old + edit if key == "more_extensions" else tuple(e for e in old if e not in edit)
    return "extensions"


def check_value(name: str, key: str, value: Any) -> Any:
    """The value as a profile keeps it; AdrenoSimError on an unknown key, a wrong type, or a value that no device can have."""
    if key not in FIELDS:
        raise AdrenoSimError(f"device profile {name}: there is no field {key!r}{suggest(key, FIELDS)}")
    value = _check_type(name, key, value, FIELDS[key])
    if wrong := find_wrong_value(key, value):
        shown = list(value) if isinstance(value, tuple) else value if isinstance(value, int) else repr(value)
        raise AdrenoSimError(f"device profile {name}: {key} {shown}: {wrong}")
    return value


def _check_type(name: str, key: str, value: Any, kind: str) -> Any:
    def is_int(item: object) -> bool:
        return isinstance(item, int) and not isinstance(item, bool) and item >= 0

    good = {
        _INT: is_int(value),
        _INTS: isinstance(value, (list, tuple)) and all(map(is_int, value)),
        _TEXT: isinstance(value, str),
        _TEXTS: isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value),
        _BOOL: isinstance(value, bool),
    }[kind]
    if not good:
        raise AdrenoSimError(f"device profile {name}: {key} = {value!r}: expected {kind}")
    return tuple(value) if kind in (_INTS, _TEXTS) else value
