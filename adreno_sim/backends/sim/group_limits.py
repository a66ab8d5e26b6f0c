"""How large a group of a kernel can be where its registers decide: which launches and builds a phone refuses, or may refuse.

Registers are asked for only where a group is larger than every kernel's is (`Chip.least_group_limit`). A kernel whose work-items
never wait for each other runs in any group: its waves need not be there at once. So it was on an Adreno 530, where boda's 195
refused launches are of kernels with barriers, while kernels without barriers ran in groups of 256, and registers suffice for 128
of these at once (https://github.com/moskewcz/boda, test/wisdom-merged.wis). Clients get the largest group that is not refused.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from ...base.errors import BuildError, DeviceError, UnsupportedError
from ...findings import Finding, Kind
from ...ir import ir
from ...isa.chips import Chip, chip_of_profile
from ...profiles.profile import Profile
from .program import SimKernel, SimProgram

if TYPE_CHECKING:
    from ...device.machine_code import RegisterUse

_CODE = "CL_INVALID_WORK_GROUP_SIZE"


def find_largest_group(kernel: SimKernel, profile: Profile) -> int:
    """Returns what CL_KERNEL_WORK_GROUP_SIZE is: work-items of the largest group of a kernel that is not refused."""
    use = _find_use_of_meeting(kernel.function, profile, profile.largest_group)
    return profile.largest_group if use is None else min(profile.largest_group, use.group_limit[1])


def sure_group(profile: Profile) -> int:
    """Returns the work-items of a group that every kernel of a device can have."""
    chip = find_own_chip(profile.name)
    return profile.largest_group if chip is None else min(profile.largest_group, chip.least_group_limit)


def refuse_required_groups(program: SimProgram, profile: Profile) -> SimProgram:
    """Returns a program. BuildError if a kernel requires a larger group than its registers leave room for: such a program was
    not built on an Adreno 750 (https://github.com/galloty/genefer22/issues/12)."""
    for function in program.module.kernels.values():
        items = math.prod(function.required_work_group_size or (1,))
        is_large = items > sure_group(profile)  # asked first: what follows reads the kernel's body
        use = _find_use_of_meeting(function, profile, items) if is_large else None
        if use is not None and use.refuses(items):
            raise BuildError(
                f"kernel {function.name}: reqd_work_group_size asks for {items} work-items; {_describe(use)}: the driver's "
                "compiler ends with CL_OUT_OF_HOST_MEMORY; expected a smaller group, or fewer values alive at once"
            )
    return program


class GroupWatch:
    """Refuses launches of groups that find no registers, and warns once of each that may find none."""

    def __init__(self, profile: Profile):
        self._profile = profile
        self._seen: set[tuple[str, str, int]] = set()

    def look_at(self, kernel: SimKernel, group: tuple[int, int, int]) -> list[Finding]:
        """The warning of a launch that a phone may refuse; none of one that was seen before. DeviceError for one that it does."""
        items = math.prod(group)
        use = _find_use(kernel.function, self._profile, items)
        if use is None or not use.may_refuse(items):
            return []
        if use.refuses(items):
            raise DeviceError(_CODE, f"kernel {kernel.name}: local size {group}: {items} work-items; {_describe(use)}")
        key = kernel.name, kernel.source, items
        if key in self._seen:
            return []
        self._seen.add(key)
        return [make_warning(use, items, kernel.function)]


def make_warning(use: RegisterUse, items: int, function: ir.Function) -> Finding:
    """The finding of a group that may be refused."""
    why = _describe(use) if use.meets else f"{_describe(use)}, though its work-items do not wait for each other"
    return Finding(
        Kind.GROUP_MAY_BE_REFUSED,
        f"{items} work-items in a group on {use.chip}: {why}; where CL_KERNEL_WORK_GROUP_SIZE is smaller, the launch fails with "
        f"{_CODE}",
        kernel=function.name,
        line=function.loc.line,
        column=function.loc.column,
        detail={
            "chip": use.chip,
            "items": items,
            "registers": list(use.registers),
            "group_limit": list(use.group_limit),
            "by": use.by,
        },
    )


def _describe(use: RegisterUse) -> str:
    """What a kernel takes, and what that leaves room for."""
    who = "by Mesa's compiler" if use.by == "ir3" else "by an estimate"
    return f"{_range(use.registers)} registers ({who}) leave room for {_range(use.group_limit)} (CL_KERNEL_WORK_GROUP_SIZE)"


def _range(figures: tuple[int, int]) -> str:
    return f"{figures[0]}" if figures[0] == figures[1] else f"{figures[0]} to {figures[1]}"


def _find_use(function: ir.Function, profile: Profile, items: int) -> RegisterUse | None:
    """What a kernel takes; None if a group of so many work-items fits whatever that is, where `kernel_group_limit` decides,
    and for devices whose registers are not known."""
    chip = None if profile["kernel_group_limit"] else find_own_chip(profile.name)
    if chip is None or items <= chip.least_group_limit:
        return None
    from ...isa.register_use import find_register_use  # most programs never come here

    return find_register_use(function, chip)


def _find_use_of_meeting(function: ir.Function, profile: Profile, items: int) -> RegisterUse | None:
    """The same; None also for a kernel whose work-items never wait for each other."""
    from ...isa.register_use import work_items_meet

    return _find_use(function, profile, items) if work_items_meet(function) else None


@functools.cache
def find_own_chip(profile: str) -> Chip | None:
    """Returns the chip of a profile; None if its registers are not known."""
    try:
        return chip_of_profile(profile)
    except UnsupportedError:
        return None
