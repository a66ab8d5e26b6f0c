"""What the regions of a kernel share while they are emitted, and what each check of level full shares."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property

from ...ir import ir
from ...ir.provenance import Provenance
from ...ir.queries import globals_of
from ...records import dataclass
from ..analysis.parallel_regions import RegionPlan
from .emitter import Emitter
from .instrumentation import Instrumentation
from .tables.post_dominated_sites import PostDominatedSites
from .unit import Unit

ArenaRange = tuple[int, int]
"""Arena offset and bytes."""


@dataclass
class CheckPlan:
    """What the regions of a kernel share for one check.

    reason: what the check examines in this launch, in words that may follow "because of". zeroed_per_worker,
    zeroed_per_group: shadows that are cleared before a worker's first group, and before each group. counts_epochs: the check
    needs the logical clock (`runtime/epochs.c`). shadows_private: vector code keeps a shadow of each private variable;
    private_rooms says where in the arena, as `KernelPlan.private` does.
    """

    reason: str
    zeroed_per_worker: list[ArenaRange] = field(default_factory=list)
    zeroed_per_group: list[ArenaRange] = field(default_factory=list)
    counts_epochs: bool = False
    shadows_private: bool = False
    private_rooms: dict[int, tuple[int, int]] = field(default_factory=dict)

    def instrument(self, e: Emitter) -> Instrumentation:
        """Returns the callbacks for the emitter of one region (a RegionEmitter, or VectorEmitter for vectors). They report by
        diagnostic sites in scalar code, and raise the fault flag in vector code."""
        raise NotImplementedError

    def find_post_dominated_sites(self) -> PostDominatedSites:
        """Returns which of the check's sites are always executed after which others, if it needs this."""
        return PostDominatedSites()


@dataclass(frozen=True)
class CollectiveSlots:
    """Arena offsets of what a collective function takes and gives, an entry for each work-item: the value of each operand, then
    the masks of those that it hands over; the value of the result, then its masks. types: of the parts of the result."""

    operands: list[list[int]]
    result: list[int]
    types: list[str]


@dataclass
class KernelPlan:
    """What the regions of a kernel share: the regions themselves, and arena offsets of private objects and spilled values."""

    unit: Unit
    provenance: Provenance
    regions: RegionPlan
    by_subgroup: bool  # sub-group functions: regions run ranges of flattened local ids
    args: list[int] = field(default_factory=list)
    private: dict[int, tuple[int, int]] = field(default_factory=dict)  # alloca: arena offset, stride per work-item
    spilled: dict[int, list[int]] = field(default_factory=dict)  # value: arena offset per part
    collective: dict[int, CollectiveSlots] = field(default_factory=dict)  # by the number of the synchronisation point
    checks: list[CheckPlan] = field(default_factory=list)  # at level full
    scheduled: bool = False  # level full in scalar code: groups and work-items run in the order of the launch's tables

    @property
    def orders_groups(self) -> bool:
        """Whether groups run in the order of the launch's table."""
        return self.scheduled or self.unit.spec.sampled or self.unit.spec.debug

    @cached_property
    def variables(self) -> dict[int, ir.Instr]:
        """The private variables, by id."""
        return {id(i): i for i in self.unit.kernel.blocks[0].instrs if i.op == "alloca"}

    @cached_property
    def globals(self) -> list[ir.Global]:
        """The program-scope variables that the kernel uses."""
        return globals_of(self.unit.kernel)

    @property
    def is_single_region(self) -> bool:
        return len(self.regions.regions) == 1

    @property
    def lanes(self) -> int:
        """The number of work-items that run at once."""
        return 1

    @property
    def counts_epochs(self) -> bool:
        """Whether a check needs the logical clock."""
        return any(check.counts_epochs for check in self.checks)
