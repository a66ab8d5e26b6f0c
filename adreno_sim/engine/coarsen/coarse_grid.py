"""The grid of a coarse launch: how the groups of a launch become work-items along x, and maybe along y.

Groups are counted along x in rows, if the kernel splits their number by constants (a row of an image, mostly): then no vector
reaches into the next row, and what tells rows apart is the same for all lanes. A last vector that a row does not fill begins
earlier and computes some groups twice. Rows are counted in planes in turn (an output channel, mostly): at one place of a row, the
groups of several planes share what they read.
"""

from __future__ import annotations

from dataclasses import replace

from ...base.specs import Size3
from ...records import dataclass
from ..abi.launch_facts import LaunchFacts
from ..abi.specialization import NOTHING, LocalArg, Specialization, bounds_of_grid

LEAST_GROUPS = 32
"""Coarse groups that a launch must still have, so that all threads have work."""
MOST_LOCAL_BYTES = 1 << 18
"""Local memory of a coarse group: what the cache of a processor holds."""
MOST_LANES = 32
"""Lanes of a vector, whose mask is a word."""
_SHARED = 1.0
"""What is computed once for all lanes, in times of what a usual vector takes besides."""


@dataclass(frozen=True)
class CoarseGrid:
    """`lanes` groups of a launch are one: as many of a row in each of `planes` planes.

    row: groups of a row, 0 if all groups along x are one row. plane: groups of a plane, 0 if `planes` is 1.

    Along x are the groups of a row. Where `planes` is 1, the work-items of a group along x are along y, with the rows as groups;
    what is along y in the launch is along z, and the launch has one layer. Else the planes are along y, and the work-items of a
    group along z, with the rows of a plane as groups; the launch has groups and work-items along x alone.
    """

    lanes: int
    row: int = 0
    planes: int = 1
    plane: int = 0

    @property
    def columns(self) -> int:
        """The groups of a row that are in one coarse group."""
        return self.lanes // self.planes

    @property
    def rows(self) -> int:
        """The rows of a plane."""
        return self.plane // self.row

    def local_size(self, local_size: Size3) -> Size3:
        """Returns the size of a coarse group, of groups of `local_size`."""
        x, y, _ = local_size
        return (self.columns, self.planes, x) if self.plane else (self.columns, x, y)

    def global_size(self, local_size: Size3, groups: Size3) -> Size3:
        """Returns the global size of the coarse launch."""
        (x, y, _), (along, column, _) = local_size, groups
        if self.plane:
            return self.row, along // self.plane, x * self.rows
        return self.row or along, x * (along // self.row if self.row else 1), y * column

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


def choose_grid(facts: LaunchFacts, row: int, plane: int, lane_counts: tuple[int, ...]) -> CoarseGrid | None:
    """Returns the grid of a launch whose groups along x the kernel splits into rows of `row`, these into planes of `plane` (0: it
    does not). None if too many lanes or threads would be without work. lane_counts: those of the processor, best first."""
    along, usual = row or facts.groups[0], lane_counts[0]
    fitting = (grid for grid in _grids(facts, row, plane, lane_counts) if grid.columns <= along)
    found = [grid for grid in fitting if _groups(grid, facts) >= LEAST_GROUPS]

    def cost(grid: CoarseGrid) -> float:
        return -(-along // grid.columns) * (grid.lanes / usual + _SHARED) / grid.planes

    return min(found, key=cost, default=None)


def _grids(facts: LaunchFacts, row: int, plane: int, lane_counts: tuple[int, ...]) -> list[CoarseGrid]:
    found = [CoarseGrid(lanes, row) for lanes in (2 * lane_counts[0], *lane_counts)]
    if plane and facts.local_size[1] == facts.groups[1] == 1:
        for lanes in lane_counts:
            sharing = (planes for planes in (4, 2) if lanes * planes <= MOST_LANES and facts.groups[0] // plane % planes == 0)
            found += [CoarseGrid(lanes * planes, row, planes, plane) for planes in sharing]
    return found


def _groups(grid: CoarseGrid, facts: LaunchFacts) -> int:
    x, y, z = grid.facts(facts).groups
    return x * y * z
