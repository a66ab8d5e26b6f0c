"""Device profiles: what a simulated device answers to clGetDeviceInfo, and how it lays images out in memory.

Built-in profiles are made of tables (builtin.py); users add their own (user_profile.py). Every value is marked:

sourced   read in a public dump or table
inferred  not found; taken from a related device
given     set by the user, in the device string, a file or a clinfo dump
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from ..base.errors import AdrenoSimError
from ..records import dataclass
from . import builtin
from .fields import DEFAULTS, FIELDS, check_value, parse_value, suggest
from .ml import MLCapabilities, of_profile

__all__ = [
    "DEFAULT",
    "FIELDS",
    "Profile",
    "default_capabilities",
    "is_builtin",
    "load",
    "names",
    "parse_value",
    "phones",
    "suggest",
]

DEFAULT = "adreno-740"

DRIVER = ",driver="
"""Between a chip or a phone and the driver that is named."""
_UNSAID = "nothing public says otherwise"
"""The origin of a value that no table has."""
_COMPILER = re.compile(r"(?:Compiler )?\b((?:E\d+|DX)(?:\.\d+)+)")


@dataclass(frozen=True)
class Profile:
    """A complete profile: `values` has every key of FIELDS, `marks` says of each whether it is sourced, inferred or given.

    origins: the address of a sourced value, what an inferred one is a guess from, where that is known. seen: the smallest and
    the largest value that phones with this chip were seen with, of keys that those who sell them choose; it has the smallest.
    """

    name: str
    values: Mapping[str, Any]
    marks: Mapping[str, str]
    origins: Mapping[str, str] = field(default_factory=dict)
    seen: Mapping[str, tuple[int, int]] = field(default_factory=dict)

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
    def largest_group(self) -> int:
        """Work-items of a group that a kernel of few registers can have."""
        most: int = self.values["MAX_WORK_GROUP_SIZE"]
        return min(most, self.values["kernel_group_limit"] or most)

    @property
    def flush_denormals(self) -> bool:
        """Whether single (and half) arithmetic flushes denormals to zero."""
        return "DENORM" not in self.values["SINGLE_FP_CONFIG"]

    @property
    def compiler_version(self) -> str:
        """The version of the kernel compiler in the driver's, as "E031.41.03.62" or "DX.18.05.00"; "" without one."""
        found = _COMPILER.search(self.values["driver_version"])
        return found[1] if found else ""

    def range_text(self, key: str) -> str:
        """The known range of a value that vendors choose, as a clause to put after it; "" if it is one value."""
        low, high = self.seen.get(key, (0, 0))
        return f", the smallest seen: phones have up to {high:,}" if low != high else ""

    @property
    def ml(self) -> MLCapabilities | None:
        """OpenCL ML; None if the device has not the extension."""
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
        checked = {key: check_value(self.name, key, value) for key, value in changes.items()}
        given = dict.fromkeys(checked, "given")
        seen = {key: found for key, found in self.seen.items() if key not in checked}
        return complete(self.name, {**self.values, **checked}, {**self.marks, **given}, {**self.origins, **given}, seen)


@functools.cache
def load(name: str) -> Profile:
    """A built-in profile; `user_profile.load_profile` also takes files.

    It is a chip ("adreno-740") or a phone ("galaxy-s23"), each with its own driver or with one that is named:
    "adreno-740,driver=E031.41.03". Raises AdrenoSimError naming what exists.
    """
    chip, _, driver = name.partition(DRIVER)
    chip = chip.lower()
    if chip not in (*names(), *phones()):
        raise AdrenoSimError(
            f"device profile {chip!r} does not exist{suggest(chip, (*names(), *phones()))}; there are: {', '.join(names())}; "
            f"and phones: {', '.join(phones())}"
        )
    found = builtin.resolve(chip, driver)
    return complete(f"{chip}{DRIVER}{driver}" if driver else chip, found.values, found.marks, found.origins, found.seen)


def default_capabilities() -> MLCapabilities:
    """OpenCL ML of the default device."""
    found = load(DEFAULT).ml
    assert found is not None
    return found


def names() -> list[str]:
    """The built-in profiles of chips, and the reference."""
    return builtin.chips()


def phones() -> list[str]:
    """The built-in profiles of phones and boards."""
    return builtin.phones()


def is_builtin(name: str) -> bool:
    """Whether a profile's name is that of a built-in one, as `load` takes it."""
    return name.partition(DRIVER)[0] in (*names(), *phones())


def complete(
    name: str,
    values: Mapping[str, Any],
    marks: Mapping[str, str],
    origins: Mapping[str, str],
    seen: Mapping[str, tuple[int, int]],
) -> Profile:
    """The profile, with what a table without a base need not say. AdrenoSimError if anything else is missing."""
    words = {"opencl": values.get("opencl"), "name": name}
    added = {
        key: value.format_map(words) if isinstance(value, str) else value for key, value in DEFAULTS.items() if key not in values
    }
    values, marks = {**values, **added}, {**marks, **dict.fromkeys(added, "inferred")}
    origins = {**origins, **dict.fromkeys(added, _UNSAID)}
    missing = [key for key in FIELDS if key not in values]
    if missing:
        raise AdrenoSimError(f"device profile {name}: no value for {', '.join(missing)}; name a base that has them")
    values["extensions"] = tuple(sorted(set(values["extensions"])))
    return Profile(
        name,
        MappingProxyType({key: values[key] for key in FIELDS}),
        MappingProxyType({key: marks[key] for key in FIELDS}),
        MappingProxyType({key: origins.get(key, "") for key in FIELDS}),
        MappingProxyType(dict(seen)),
    )
