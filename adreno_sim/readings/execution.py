"""Readings of how work-items are put together and ordered."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..backends.sim.limits import fill_group
from ..backends.sim.program import kind_of
from ..backends.sim.sub_groups import choose_size, sees_sub_groups
from ..ir.ir import LOCAL
from ..ir.memory_ops import is_atomic
from ..ir.queries import globals_of
from .reading import Choice, Reading
from .subject import Subject

WAVES = (64, 128)
"""The sub-groups of all Adrenos from 6xx on."""
_GROUP_QUERIES = (
    "get_local_id", "get_local_linear_id", "get_local_size", "get_enqueued_local_size", "get_group_id", "get_num_groups",
)  # fmt: skip
_STEP = 4
"""By this factor groups are smaller and larger."""


def _why_no_wave(subject: Subject) -> str:
    if not sees_sub_groups(subject.function):
        return "it asks for no sub-group"
    if subject.function.required_sub_group_size:
        return "it requires its sub-group size"
    return "the device string sets wave_sizes" if subject.is_given("wave_sizes", "sub_group_rule") else ""


def _other_waves(subject: Subject) -> Sequence[Choice]:
    own = choose_size(subject.function, subject.profile)
    of_chip = subject.profile["wave_sizes"]
    sizes = WAVES if set(of_chip) <= set(WAVES) else of_chip
    return [Choice(f"wave_size={size}", {"wave_sizes": (size,)}) for size in sizes if size != own]


WAVE_SIZE = Reading(
    "wave-size",
    "how many work-items a sub-group has where a kernel asks for no size",
    "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html (3.2.1, sub-groups); "
    "https://github.com/ggml-org/llama.cpp/pull/23312",
    lambda subject: f"wave_size={choose_size(subject.function, subject.profile)}",
    _other_waves,
    _why_no_wave,
)


def _why_no_group(subject: Subject) -> str:
    if not subject.chooses_group:
        return "the host names the group; whether registers leave room for it group-may-be-refused tells"
    if subject.function.required_work_group_size:
        return "the kernel requires its group"
    seen = subject.calls(*_GROUP_QUERIES) or sees_sub_groups(subject.function)
    local = any(one.space == LOCAL for one in globals_of(subject.function))
    given = any(kind_of(param.type) == "local" for param in subject.function.params)
    return "" if seen or local or given else "the kernel asks for nothing of its group"


def _other_groups(subject: Subject) -> Sequence[Choice]:
    items = math.prod(subject.group)
    found = {fill_group(subject.total, room, subject.profile) for room in (max(1, items // _STEP), items * _STEP)}
    fitting = [group for group in found if math.prod(group) <= subject.profile.largest_group and group != subject.group]
    return [Choice(f"groups of {_spell(group)}", group=group) for group in sorted(fitting)]


def _spell(group: Sequence[int]) -> str:
    return " x ".join(map(str, group))


GROUP_SIZE = Reading(
    "group-size",
    "which work-group a launch has for which the host names none",
    "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html (clEnqueueNDRangeKernel, local_work_size)",
    lambda subject: f"groups of {_spell(subject.group)}",
    _other_groups,
    _why_no_group,
    may_refuse=True,
)


def _why_no_order(subject: Subject) -> str:
    if math.prod(subject.total) <= 1:
        return "there is one work-item"
    if any(map(is_atomic, subject.instrs)) or subject.shares_storage:
        return ""
    return "" if any(subject.find_conflicts()) else "no two work-items meet in one place of memory, by proof"


ORDER = Reading(
    "order",
    "in which order work-groups run, and work-items between two barriers",
    "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html (3.2, execution model)",
    lambda subject: "order=ascending",
    lambda subject: [
        Choice("order=descending", options={"checks": "full", "order": "descending"}),
        Choice("order=shuffled", options={"checks": "full", "order": "shuffled"}),
    ],
    _why_no_order,
    is_of_order=True,
)
