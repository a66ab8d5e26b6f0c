"""The grid of a coarse launch: how the groups of a launch become work-items along x.

Groups are counted along x in rows, if the kernel splits their number by constants (a row of an image, mostly): then no vector
reaches into the next row, and what tells rows apart is the same for all lanes. A last vector that a row does not fill begins
earlier and computes some groups twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..abi.launch_facts import LaunchFacts, Triple
from ..abi.specialization import NOTHING, LocalArg, Specialization, bounds_of_grid

LEAST_GROUPS = 32
"""Coarse groups that a launch must still have, so that all threads have work."""
MOST_LOCAL_BYTES = 1 << 18
"""Local memory of a coarse group: what the cache of a processor holds."""
_SHARED = 1.0
"""What is computed once for all lanes, in times of what a usual vector takes besides."""


@dataclass(frozen=True)
class CoarseGrid:
    """`lanes` groups of a launch are one. row: groups of a row, 0 if all are one row of any length.

    Along x there are the groups of a row, along y the work-items of a group along x, with the rows as groups, along z the
    work-items and groups along y of the launch. So the launch has one layer of groups, of one layer of work-items.
    """

    lanes: int
    row: int = 0

    def local_size(self, local_size: Triple) -> Triple:
        """Returns the size of a coarse group, of groups of `local_size`."""
        x, y, _ = local_size
        return self.lanes, x, y

    def global_size(self, local_size: Triple, groups: Triple) -> Triple:
        """Returns the global size of the coarse launch."""
        (x, y, _), (row, column, _) = local_size, groups
        return self.row or row, x * (row // self.row if self.row else 1), y * column

    def facts(self, facts: LaunchFacts) -> LaunchFacts:
        """Returns the facts of the coarse launch."""
        local, size = self.local_size(facts.local_size), self.global_size(facts.local_size, facts.groups)
        x, y, z = (-(-whole // part) for whole, part in zip(size, local, strict=True))
        return replace(facts, local_size=local, groups=(x, y, z), global_size=size, uniform=size[0] % local[0] == 0)

    def spec(self, spec: Specialization, facts: LaunchFacts) -> Specialization:
        """Returns the specialization of the coarse launch, without proofs."""
        coarse = self.facts(facts)
        args = tuple(LocalArg(arg.nbytes * self.lanes) if isinstance(arg, LocalArg) else arg for arg in spec.args)
        grid = bounds_of_grid(coarse.global_size, coarse.local_size)
        return replace(
            spec,
            local_size=coarse.local_size,
            args=args,
            most_groups=grid,
            proofs=NOTHING,
            merged=self.lanes,
            overlapping=not coarse.uniform,
        )


def choose_grid(facts: LaunchFacts, row: int, lane_counts: tuple[int, ...]) -> CoarseGrid | None:
    """Returns the grid of a launch whose groups along x the kernel splits into rows of `row` (0: it does not). None if too many
    lanes or threads would be without work. lane_counts: those of the processor, best first."""
    along = row or facts.groups[0]
    usual = lane_counts[0]
    fitting = [lanes for lanes in (2 * usual, *lane_counts) if lanes <= along]
    if not fitting:
        return None
    grid = CoarseGrid(min(fitting, key=lambda lanes: -(-along // lanes) * (lanes / usual + _SHARED)), row)
    x, y, z = grid.facts(facts).groups
    return grid if x * y * z >= LEAST_GROUPS else None
