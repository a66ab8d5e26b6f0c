"""Readings of what a device has: memory, the layout of images, its version."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.pitch_rules import PITCH_RULES
from ..profiles import builtin
from ..profiles.profile import is_builtin, load
from .reading import Choice, Reading
from .subject import Subject

_MEMORY = ("GLOBAL_MEM_SIZE", "MAX_MEM_ALLOC_SIZE")
_VERSIONS = ("2.0", "3.0")
_VERSION_MACRO = "__OPENCL_VERSION__"


def _why_no_pitch(subject: Subject) -> str:
    if subject.options.pitch_rule or subject.is_given("pitch_rule"):
        return "the device string sets pitch_rule"
    return "" if subject.images_over_buffers else "no image shares its bytes with another argument, or has a pitch of the host's"


PITCH_RULE = Reading(
    "pitch-rule",
    "how rows of an image over a buffer are padded, and which pitches it takes",
    "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_Ext.html (cl_khr_image2d_from_buffer); docs/profiles.md",
    lambda subject: f"pitch_rule={subject.profile['pitch_rule']}",
    lambda subject: [
        Choice(f"pitch_rule={rule}", {"pitch_rule": rule}) for rule in PITCH_RULES if rule != subject.profile["pitch_rule"]
    ],
    _why_no_pitch,
    may_refuse=True,
)


def _find_smallest(subject: Subject) -> dict[str, int]:
    """Returns the memory of the smallest phone with the device's chip, as far as it is smaller; {} where none is known."""
    name = subject.profile.name
    if not is_builtin(name):
        return {}
    name = name.partition(",")[0]
    chip = load(builtin.phone(name)["chip"] if name in builtin.phones() else name)
    return {key: chip[key] for key in _MEMORY if chip[key] < subject.profile[key]}


def _why_no_memory(subject: Subject) -> str:
    if subject.is_given(*_MEMORY):
        return "the device string sets the device's memory"
    smallest = _find_smallest(subject)
    if not smallest:
        return "no phone with this chip is known to have less memory than the device"
    storages = {id(view.storage): view.storage.nbytes for view in subject.views}.values()
    most, largest = (smallest.get(key, subject.profile[key]) for key in _MEMORY)
    if sum(storages) <= most and max(storages, default=0) <= largest:
        return f"its {sum(storages):,} bytes fit into the smallest phone with this chip"
    return ""


def _smaller(subject: Subject) -> Sequence[Choice]:
    values = _find_smallest(subject)
    return [Choice(", ".join(f"{key}={value}" for key, value in values.items()), values)]


MEMORY = Reading(
    "memory",
    "how much memory a program gets, and the largest allocation, which those who sell a phone choose",
    "docs/devices-evidence.md",
    lambda subject: ", ".join(f"{key}={subject.profile[key]}" for key in _find_smallest(subject)),
    _smaller,
    _why_no_memory,
    may_refuse=True,
)


def _why_no_version(subject: Subject) -> str:
    if subject.is_given("opencl"):
        return "the device string sets opencl"
    return "" if _VERSION_MACRO in subject.source else f"the source does not ask for {_VERSION_MACRO}"


VERSION = Reading(
    "version",
    "which version of OpenCL the driver has",
    "docs/devices-evidence.md",
    lambda subject: f"opencl={subject.profile['opencl']}",
    lambda subject: [
        Choice(f"opencl={version}", {"opencl": version}) for version in _VERSIONS if version != subject.profile["opencl"]
    ],
    _why_no_version,
    may_refuse=True,
)
