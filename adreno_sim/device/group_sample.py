"""Counters of some work-groups of a launch, which stand for all: far cheaper than counting every one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from ..base.errors import AdrenoSimError, OptionError
from ..base.specs import Argument
from ..profiles.profile import Profile
from ..records import dataclass
from .counters import LaunchCounters, MemoryCounters
from .protocol import Device, Kernel

MOST = 32
"""Groups of a launch that are counted, unless more of them differ by where they lie."""

STEPS = 1 << 20
"""Accesses to memory and branches of work-items after which no more groups are counted, beyond the first."""


@dataclass(frozen=True)
class Stratum:
    """Work-groups that lie alike in their NDRange: a corner, those along an edge, those within. groups: how many. chosen: the
    linear ids of those to count, ascending."""

    groups: int
    chosen: tuple[int, ...]


@dataclass(frozen=True)
class SlowCall:
    """A call of a built-in function that the device computes by many instructions: the first one of its kind in a kernel.

    times: of a multiply-add, as `source` measured it. instead: what is cheaper. line, column: where.
    """

    name: str
    times: int
    instead: str
    source: str
    line: int
    column: int


@dataclass(frozen=True)
class SampledLaunch:
    """Counters of the groups that were counted. parts: for each stratum how many groups each counted one stands for, and the
    counters of these, whose distinct bytes are not counted. local_bytes: of a group; private_bytes: arrays of a work-item;
    live_bytes: of its other values on floats, where most are needed at once. slow_calls: that the kernel has."""

    kernel: str
    groups: int
    parts: tuple[tuple[float, LaunchCounters], ...]
    local_bytes: int
    private_bytes: int
    live_bytes: int = 0
    slow_calls: tuple[SlowCall, ...] = ()

    @property
    def counted(self) -> int:
        """How many groups were counted."""
        return sum(counters.groups for _, counters in self.parts)

    def add(self, count: Callable[[LaunchCounters], float]) -> float:
        """A figure of the counters, as one of all groups."""
        return sum(weight * count(counters) for weight, counters in self.parts)

    def add_rows(self, wanted: Callable[[MemoryCounters], bool], count: Callable[[MemoryCounters], float]) -> float:
        """The same of the memory that is wanted."""
        return self.add(lambda counters: sum(count(row) for row in counters.memory if wanted(row)))


def choose_groups(grid: Sequence[int], most: int = MOST) -> list[Stratum]:
    """Returns the strata of a launch of `grid` groups along each axis, those with most groups first.

    Along an axis, groups are the first one, the last one, or between. All groups are chosen if there are at most `most`; else
    each stratum has as many as are left for it, spread evenly, and at least one.
    """
    parts = [[part for part in (range(1), range(1, size - 1), range(max(1, size - 1), size)) if part] for size in grid]
    boxes = sorted(itertools.product(*reversed(parts)), key=lambda box: math.prod(map(len, box)))
    found: list[Stratum] = []
    left = most
    for number, box in enumerate(boxes):
        groups = math.prod(map(len, box))
        some = min(groups, max(1, left // (len(boxes) - number)))
        left -= some
        found.append(Stratum(groups, tuple(_linear_id((2 * n + 1) * groups // (2 * some), box, grid) for n in range(some))))
    return found[::-1]


def _linear_id(number: int, box: Sequence[range], grid: Sequence[int]) -> int:
    """Returns the linear id of group `number` of those in a box, whose slowest axis comes first."""
    linear, stride = 0, 1
    for part, size in zip(reversed(box), grid, strict=True):
        number, at = divmod(number, len(part))
        linear += part[at] * stride
        stride *= size
    return linear


@dataclass(frozen=True)
class Tracing:
    """How accesses of waves are traced. texel_blocks: lines of textures are blocks of texels, not parts of rows. wave_items:
    work-items of a wave; None for those of the sub-groups that the device makes."""

    texel_blocks: bool = False
    wave_items: int | None = None


ROWS = Tracing()


@runtime_checkable
class GroupCounter(Protocol):
    """A device that counts what groups of a launch do."""

    def count_groups(
        self,
        kernel: Kernel,
        global_size: Sequence[int],
        local_size: Sequence[int] | None,
        args: Sequence[Argument],
        tracing: Tracing = ROWS,
    ) -> SampledLaunch:
        """Count groups of a launch, on memory as it is, which stays as it is. Errors as of `Device.launch`; UnsupportedError
        if groups do not end in time."""
        ...


def require_group_counter(device: Device) -> GroupCounter:
    """Returns `device` as one that counts groups. AdrenoSimError for one that does not, or not with its cache lines."""
    if not isinstance(device, GroupCounter) or device.info.profile is None:
        raise OptionError("device", f"{device.info.name} does not show what a kernel does; sim:PROFILE counts")
    require_line(device.info.profile, device.info.name)
    return device


def require_line(profile: Profile, name: str) -> None:
    """Raises AdrenoSimError if the cache lines of a profile are none that counters know. name: of the device."""
    line = profile["GLOBAL_MEM_CACHELINE_SIZE"]
    if line & (line - 1) or not 16 <= line <= 4096:
        raise AdrenoSimError(
            f"device {name}: counters: GLOBAL_MEM_CACHELINE_SIZE is {line}: expected a power of two from 16 to 4096"
        )
