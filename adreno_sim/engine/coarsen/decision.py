"""What is decided of a launch that may run several of its groups as one, as it is kept on disk."""

from __future__ import annotations

from ...device.protocol import AccessCounts
from ...records import dataclass
from ..abi.launch_facts import LaunchFacts
from ..abi.specialization import Specialization, shadow_of
from .coarse_grid import CoarseGrid


@dataclass(frozen=True)
class Decision:
    """The grid of the coarse launch; None, and why there is none. copies: the work-items whose work one does before a tree
    reduction (`merge_items`); the grid is that of the launch for which this is true."""

    grid: CoarseGrid | None
    reason: str = ""
    copies: int = 1


def may_be_coarse(spec: Specialization, facts: LaunchFacts, accesses: AccessCounts) -> bool:
    """Returns whether a launch may run several groups as one, as far as that is known without its kernel.

    spec: with shadows. accesses: of the launch; all must be proven in range: coarse code cannot say which work-item is
    at fault. Launches that count keep records of each group, as the check for races also does.
    """
    counts = spec.count or spec.counters or spec.sampled or spec.watch
    if spec.emitter != "spmd" or counts or accesses.places != accesses.proven_places:
        return False
    if any(shadow is not None and shadow.cell_words for shadow in map(shadow_of, spec.args)):
        return False
    flat = facts.local_size[2] == facts.groups[2] == 1 and not any(facts.offset)
    return flat and spec.uniform and spec.most_groups is not None and spec.items > 1
