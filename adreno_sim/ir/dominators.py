"""Dominators of the blocks of a function, and the edges that every path to a block takes."""

from __future__ import annotations

from . import ir
from .cfg import predecessors, reverse_postorder


class Dominators:
    """The dominator tree of the blocks reachable from the entry. `order` is their reverse postorder."""

    def __init__(self, function: ir.Function):
        self.order = reverse_postorder(function.blocks[0])
        self.predecessors = {id(b): sources for b, sources in predecessors(self.order).items()}
        self._position = {id(b): n for n, b in enumerate(self.order)}
        self._parent = self._immediate()
        self._depth = {id(self.order[0]): 0}
        for block in self.order[1:]:
            self._depth[id(block)] = self._depth[id(self._parent[id(block)])] + 1

    def reachable(self, block: ir.Block) -> bool:
        return id(block) in self._position

    def parent(self, block: ir.Block) -> ir.Block | None:
        """Returns the immediate dominator; None for the entry."""
        return None if block is self.order[0] else self._parent[id(block)]

    def dominates(self, upper: ir.Block, lower: ir.Block) -> bool:
        """Returns whether every path from the entry to `lower` passes `upper`. A block dominates itself."""
        depth = self._depth[id(upper)]
        while self._depth[id(lower)] > depth:
            lower = self._parent[id(lower)]
        return lower is upper

    def taken_edge(self, block: ir.Block) -> ir.Block | None:
        """Returns the only predecessor of `block` that it does not dominate: every path first enters `block` from there.

        Returns None if there are several, or if both targets of its branch are `block`.
        """
        sources = [p for p in self.predecessors[id(block)] if not self.dominates(block, p)]
        return sources[0] if len(sources) == 1 else None

    def _immediate(self) -> dict[int, ir.Block]:
        """Computes immediate dominators by the iteration of Cooper, Harvey and Kennedy."""
        entry = self.order[0]
        parent: dict[int, ir.Block] = {id(entry): entry}
        changed = True
        while changed:
            changed = False
            for block in self.order[1:]:
                known = [p for p in self.predecessors[id(block)] if id(p) in parent]
                best = known[0]
                for other in known[1:]:
                    best = self._meet(parent, best, other)
                if parent.get(id(block)) is not best:
                    parent[id(block)] = best
                    changed = True
        return parent

    def _meet(self, parent: dict[int, ir.Block], a: ir.Block, b: ir.Block) -> ir.Block:
        position = self._position
        while a is not b:
            while position[id(a)] > position[id(b)]:
                a = parent[id(a)]
            while position[id(b)] > position[id(a)]:
                b = parent[id(b)]
        return a
