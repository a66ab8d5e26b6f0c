"""What the C runtime must know of the kernel that it becomes part of: a constant of each module, which LLVM folds."""

from __future__ import annotations

from typing import NamedTuple

FENCES_LOCAL, FENCES_GLOBAL, FENCES_IMAGES, OF_SUBGROUP, FENCES_BY_FLAGS = 1, 2, 4, 8, 16
"""Bits of a synchronisation point: it orders accesses to local memory; to global memory; to images; only a sub-group meets; its
flags, which only a run knows, say what it orders."""

LOCAL_FLAG, GLOBAL_FLAG, IMAGE_FLAG = 1, 2, 4
"""Flags of a barrier: CLK_LOCAL_MEM_FENCE, CLK_GLOBAL_MEM_FENCE and CLK_IMAGE_MEM_FENCE."""

ABANDONED = -1
"""The result of a region whose group must not continue: work-items diverged, or the launch was stopped."""


class KernelShape(NamedTuple):
    """Offsets are in a worker's arena.

    items, local_size_*: work-items of the largest group. wave: work-items of a sub-group; 0 where the kernel has no functions of
    sub-groups. subgroup_states: a word for each sub-group. local_bytes: of local memory. counts_epochs: the logical clock goes.
    counters: events that each worker counts. first_*_site: sites of the synchronisation points, in their order.
    """

    items: int
    local_size_x: int
    local_size_y: int
    local_size_z: int
    wave: int
    subgroup_states: int
    local_bytes: int
    counts_epochs: int
    counters: int
    first_divergence_site: int
    first_watchdog_site: int
