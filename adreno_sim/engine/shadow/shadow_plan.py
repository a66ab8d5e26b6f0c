"""What the regions of a kernel share at level full: analyses, and arena offsets of the shadows of local and private memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...ir import ir
from ...ir.postdominators import find_postdominators
from ...ir.provenance import ObjectId
from ..abi.specialization import LocalArg
from .granularity import MAX_GRANULARITY, granularities_of
from .undefined_values import UndefinedValues
from .uses import Uses

if TYPE_CHECKING:
    from ..emit.region import KernelPlan

CELL_BYTES = 32
"""Size of a cell of memory that is read and written."""


@dataclass
class TexelWrites:
    """The texel writes of a kernel: the blocks they are in, by number of their site."""

    kernel: ir.Function
    blocks: dict[int, list[ir.Block]] = field(default_factory=dict)

    def add(self, number: int, block: ir.Block) -> None:
        self.blocks.setdefault(number, []).append(block)

    def unconditional_pairs(self) -> frozenset[tuple[int, int]]:
        """Returns pairs (earlier, later) of sites such that every work-item that executes the first also executes the second."""
        if len(self.blocks) < 2:
            return frozenset()
        reached = find_postdominators(self.kernel.blocks)
        return frozenset(
            (first, second)
            for first, starts in self.blocks.items()
            for second, ends in self.blocks.items()
            if all(any(end in reached[start] for end in ends) for start in starts)
        )


class ShadowPlan:
    """The shadows of a kernel in the arena of a worker.

    `local_init_shadow`: of all local memory of the group, one byte per byte. `local_cell_offset`: one cell per
    `local_granularity` bytes. `private`: offsets of the shadows of private variables that lie in the arena.
    """

    def __init__(self, plan: KernelPlan, kernel: ir.Function):
        unit = plan.unit
        self.uses = Uses(kernel)
        self.undefined = UndefinedValues(kernel, self.uses)
        granularities = granularities_of(kernel, plan.provenance)
        local = [granularities.of(object_id) for object_id in granularities.by_object if _is_local(object_id, unit.spec.args)]
        self.local_granularity = granularities.least if granularities.unknown else min(local, default=MAX_GRANULARITY)
        self.local_bytes = unit.local_bytes
        self.local_init_shadow = unit.reserve_arena(self.local_bytes)
        self.local_cell_offset = unit.reserve_arena(self.local_cell_bytes)
        self.texel_writes = TexelWrites(kernel)
        self.private: dict[int, int] = {}

    @property
    def local_cell_bytes(self) -> int:
        return self.local_bytes // self.local_granularity * CELL_BYTES


def _is_local(object_id: ObjectId, args: tuple[object, ...]) -> bool:
    """Returns whether an object is local memory. Program-scope constants count too: they are never written, and rarely reduce
    the granularity."""
    kind, which = object_id
    if kind == "param":
        assert isinstance(which, int)
        return isinstance(args[which], LocalArg)
    return kind == "global"
