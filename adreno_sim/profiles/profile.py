"""Device profiles: what a simulated device answers to clGetDeviceInfo, and how it lays images out in memory.

Built-in profiles lie in profiles.toml; users add their own as a TOML file of the same form (one `[profile.NAME]` table,
`base` may name a built-in profile) or as the output of `clinfo --json`. Every value is marked:

sourced   read in a public dump or table
inferred  not found; taken from a related device
given     set by the user, in the device string, a file or a clinfo dump
"""

from __future__ import annotations

import difflib
import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..base.bounded_read import read_text
from ..base.errors import AdrenoSimError
from .bounds import find_wrong_value
from .ml import MLCapabilities, of_profile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULT = "adreno-740"

_INT, _INTS, _TEXT, _TEXTS, _BOOL = "an integer", "a list of integers", "a string", "a list of strings", "true or false"

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "opencl": _TEXT,  # version of the device, "2.0" or "3.0"
        "device_name": _TEXT,
        "device_version": _TEXT,
        "driver_version": _TEXT,  # what the driver calls itself; programs look for the compiler's number in it
        "extensions": _TEXTS,
        "compiler_extensions": _TEXTS,  # what the kernel compiler takes though the device does not list it
        "pitch_rule": _TEXT,  # one of PITCH_RULES; see base.pitch_rules
        "wave_sizes": _INTS,  # full and half wave; the first is the sub-group size
        "page_size": _INT,  # bytes to which the pool rounds
        "non_uniform_work_groups": _BOOL,
        "SINGLE_FP_CONFIG": _TEXTS,
        "HALF_FP_CONFIG": _TEXTS,
        "DOUBLE_FP_CONFIG": _TEXTS,
        "MAX_WORK_ITEM_SIZES": _INTS,
    }
    | dict.fromkeys(
        (
            "IMAGE2D_MAX_WIDTH", "IMAGE2D_MAX_HEIGHT", "IMAGE3D_MAX_WIDTH", "IMAGE3D_MAX_HEIGHT", "IMAGE3D_MAX_DEPTH",
            "IMAGE_MAX_ARRAY_SIZE", "IMAGE_MAX_BUFFER_SIZE", "IMAGE_PITCH_ALIGNMENT", "IMAGE_BASE_ADDRESS_ALIGNMENT",
            "MAX_READ_IMAGE_ARGS", "MAX_WRITE_IMAGE_ARGS", "MAX_READ_WRITE_IMAGE_ARGS", "MAX_SAMPLERS",
            "MAX_WORK_GROUP_SIZE", "LOCAL_MEM_SIZE", "MAX_CONSTANT_BUFFER_SIZE", "MAX_CONSTANT_ARGS",
            "MAX_PARAMETER_SIZE", "MEM_BASE_ADDR_ALIGN", "GLOBAL_MEM_CACHELINE_SIZE", "GLOBAL_MEM_CACHE_SIZE",
            "GLOBAL_MEM_SIZE", "MAX_MEM_ALLOC_SIZE", "MAX_COMPUTE_UNITS", "ADDRESS_BITS",
            "ONCHIP_GLOBAL_MEM_SIZE",  # of cl_qcom_onchip_global_memory
            "ml_interface",  # newest version of cl_qcom_ml_ops, 1 to 5; 0 = none
            "ml_gflops", "kernel_gflops", "memory_mbps", "ml_start_ns", "kernel_start_ns",  # see mlops.capabilities
        ),
        _INT,
    )
)  # fmt: skip
"""Every key of a profile and what its value must be. Upper-case keys are OpenCL's, without CL_DEVICE_."""

_EDITS = ("more_extensions", "without_extensions")  # change the inherited extension list


@dataclass(frozen=True)
class Profile:
    """A complete profile: `values` has every key of FIELDS, `marks` says of each whether it is sourced, inferred or given."""

    name: str
    values: Mapping[str, Any]
    marks: Mapping[str, str]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @property
    def limits(self) -> dict[str, Any]:
        """The values clGetDeviceInfo knows."""
        return {key: value for key, value in self.values.items() if key.isupper()}

    @property
    def extensions(self) -> frozenset[str]:
        return frozenset(self.values["extensions"])

    @property
    def compiler_extensions(self) -> frozenset[str]:
        return frozenset(self.values["compiler_extensions"])

    def wave_size(self, wanted: str = "") -> int:
        """Work-items of a sub-group. wanted: what a kernel's qcom_reqd_sub_group_size asks for: "half", "full" or ""."""
        sizes = self.values["wave_sizes"]
        return int(sizes[-1 if wanted == "half" else 0])

    @property
    def flush_denormals(self) -> bool:
        """Whether single (and half) arithmetic flushes denormals to zero."""
        return "DENORM" not in self.values["SINGLE_FP_CONFIG"]

    @property
    def ml(self) -> MLCapabilities | None:
        """OpenCL ML; None where the device has not the extension."""
        return of_profile(self.values, self.extensions)

    @property
    def image_from_buffer(self) -> bool:
        """Images over buffers at all: the extension, and alignments that are not reported as 0."""
        return "cl_khr_image2d_from_buffer" in self.extensions and bool(self.values["IMAGE_PITCH_ALIGNMENT"])

    def images_over_buffers(self, kind: str) -> bool:
        """Whether an image of `kind` can be a view of a buffer's bytes (cl_khr_image2d_from_buffer, cl_ext_image_from_buffer)."""
        if kind == "image1d_buffer":
            return True
        if not self.image_from_buffer:
            return False
        return kind == "image2d" or "cl_ext_image_from_buffer" in self.extensions

    def with_values(self, changes: Mapping[str, Any]) -> Profile:
        """This profile with values given by the user; raises AdrenoSimError on an unknown key or a wrong type."""
        if not changes:
            return self
        checked = {key: _check_value(self.name, key, value) for key, value in changes.items()}
        return _check_complete(self.name, {**self.values, **checked}, {**self.marks, **dict.fromkeys(checked, "given")})


def load(name: str) -> Profile:
    """A built-in profile by name, or a user's by path (ends in .toml or .json). Raises AdrenoSimError naming what exists."""
    if name.endswith(".toml"):
        return from_toml(Path(name))
    if name.endswith(".json"):
        from .clinfo import from_clinfo

        return from_clinfo(Path(name))
    if name.lower() not in names():
        raise AdrenoSimError(
            f"device profile {name!r} does not exist{suggest(name.lower(), names())}; there are: {', '.join(names())}"
        )
    return _resolve(_builtin(), name.lower())


def default_capabilities() -> MLCapabilities:
    """OpenCL ML of the default device."""
    found = load(DEFAULT).ml
    assert found is not None
    return found


def names() -> list[str]:
    """The built-in profiles."""
    return list(_builtin()["profile"])


def from_toml(path: Path) -> Profile:
    """The profile a user's TOML file holds. Raises AdrenoSimError with the file's name on anything wrong in it."""
    try:
        tables = tomllib.loads(read_text(path))
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise AdrenoSimError(f"device profile {path}: cannot be read: {error}") from None
    except ValueError as error:  # TOMLDecodeError, and Python's for a number of thousands of digits
        raise AdrenoSimError(f"device profile {path}: not valid TOML: {error}") from None
    profiles = tables.get("profile")
    if not isinstance(profiles, dict) or len(profiles) != 1 or not all(isinstance(table, dict) for table in profiles.values()):
        raise AdrenoSimError(f"device profile {path}: expected exactly one table [profile.NAME]")
    (name,) = profiles
    if not name or not name.isprintable():
        raise AdrenoSimError(f"device profile {path}: the name {name!r}: expected text without control characters")
    if name in _builtin()["profile"]:
        raise AdrenoSimError(f"device profile {path}: the name {name!r} is taken by a built-in profile")
    builtin = _builtin()
    return _resolve({"base": builtin["base"] | builtin["profile"], "profile": profiles}, name)


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


@functools.cache
def _builtin() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("profiles.toml").read_text(encoding="utf-8"))


def suggest(name: str, known: Any) -> str:
    """ " (did you mean ...?)" for names close to a wrong one, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=2)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def _resolve(tables: Mapping[str, Any], name: str) -> Profile:
    """Values of `name` over those of its chain of bases, with their marks."""
    values: dict[str, Any] = {}
    marks: dict[str, str] = {}
    for table, mark_inherited in _chain(tables, name):
        for mark in ("sourced", "inferred", "given"):
            for key, value in table.get(mark, {}).items():
                _apply(name, key, value, values)
                marks["extensions" if key in _EDITS else key] = mark if mark_inherited else "inferred"
        for key in _EDITS:
            if key in table:
                _apply(name, key, table[key], values)
    return _check_complete(name, values, marks)


def _chain(tables: Mapping[str, Any], name: str) -> list[tuple[Mapping[str, Any], bool]]:
    """The table of `name` and its bases, base first; with each, whether its marks hold for `name` itself."""
    chain, seen, table = [(tables["profile"][name], True)], [name], tables["profile"][name]
    _check_table(name, table)
    while base := table.get("base"):
        if not isinstance(base, str) or base not in tables["base"]:
            raise AdrenoSimError(f"device profile {name}: base {base!r} does not exist{suggest(str(base), tables['base'])}")
        if base in seen:
            raise AdrenoSimError(f"device profile {name}: base {base!r} refers to itself")
        seen.append(base)
        table = tables["base"][base]
        _check_table(base, table)
        chain.append((table, name in table.get("dump_of", ())))
    return chain[::-1]


def _check_table(name: str, table: Mapping[str, Any]) -> None:
    known = ("base", "dump_of", "sourced", "inferred", "given", *_EDITS)
    for key, value in table.items():
        if key not in known:
            hint = " (values belong under sourced, inferred or given)" if key in FIELDS else suggest(key, known)
            raise AdrenoSimError(f"device profile {name}: unknown key {key!r}{hint}")
        if key in ("sourced", "inferred", "given") and not isinstance(value, dict):
            raise AdrenoSimError(f"device profile {name}: {key}: expected a table, got {value!r}")


def _apply(name: str, key: str, value: Any, values: dict[str, Any]) -> None:
    if key not in _EDITS:
        values[key] = _check_value(name, key, value)
        return
    edit = _check_type(name, key, value, _TEXTS)
    if wrong := find_wrong_value("extensions", edit):
        raise AdrenoSimError(f"device profile {name}: {key}: {wrong}")
    old = tuple(values.get("extensions", ()))
    values["extensions"] = old + edit if key == "more_extensions" else tuple(e for e in old if e not in edit)


def _check_value(name: str, key: str, value: Any) -> Any:
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


def _check_complete(name: str, values: dict[str, Any], marks: dict[str, str]) -> Profile:
    if "driver_version" not in values:  # profiles that name no base need not know it
        values["driver_version"], marks["driver_version"] = f"OpenCL {values.get('opencl')} {name}", "inferred"
    missing = [key for key in FIELDS if key not in values]
    if missing:
        raise AdrenoSimError(f"device profile {name}: no value for {', '.join(missing)}; name a base that has them")
    values["extensions"] = tuple(sorted(set(values["extensions"])))
    ordered = {key: values[key] for key in FIELDS}
    return Profile(name, MappingProxyType(ordered), MappingProxyType({key: marks[key] for key in FIELDS}))
