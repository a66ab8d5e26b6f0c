"""The loops of a kernel as counted code numbers them: the same iterations of the same loops are what a wave runs at once."""

from __future__ import annotations

from dataclasses import field

from ...ir import ir
from ...ir.cfg import reverse_postorder
from ...ir.dominators import DominatorTree
from ...ir.loops import back_edges, natural_loops
from ...records import dataclass

WHOLE = 0
"""The number of the kernel itself, which is around all loops."""


@dataclass
class LoopNest:
    """Loops by number from 1. heads: the loop that begins an iteration at a block. around: the loop around each one; inside:
    those that each one holds, directly. innermost: the loop of each block, WHOLE outside of loops."""

    heads: dict[ir.Block, int] = field(default_factory=dict)
    around: dict[int, int] = field(default_factory=dict)
    innermost: dict[ir.Block, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many numbers there are, that of the kernel included."""
        return len(self.around) + 1

    def inside(self, loop: int) -> list[int]:
        """Returns the loops directly inside a loop."""
        return [number for number, above in self.around.items() if above == loop]


def find_loops(function: ir.Function) -> LoopNest:
    """Returns the loops of a kernel. Where control flow is irreducible, all that may run again is one loop, and what a wave runs
    at once is what its work-items run after as many steps of it."""
    order = reverse_postorder(function.blocks[0])
    bodies = natural_loops(DominatorTree(order))
    if bodies is None:
        heads = {head for _, head in back_edges(order)}
        return LoopNest(dict.fromkeys(heads, 1), {1: WHOLE}, dict.fromkeys(order, 1))
    nest = LoopNest(innermost=dict.fromkeys(order, WHOLE))
    for head, body in sorted(bodies.items(), key=lambda item: -len(item[1])):  # outer loops first
        nest.heads[head] = number = nest.count
        nest.around[number] = nest.innermost[head]
        nest.innermost.update(dict.fromkeys(body, number))
    return nest
