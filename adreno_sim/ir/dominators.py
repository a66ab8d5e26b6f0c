"""The dominator tree of a control flow graph, and the edges that every path to a block takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from . import ir
from .cfg import Node, predecessors, reverse_postorder


class DominatorTree(Generic[Node]):
    """The dominator tree of the nodes `order`: all that are reachable from its first, in reverse postorder.

    predecessors: by the id of a node, one entry for each edge. Computed by the iteration of Cooper, Harvey and Kennedy.
    """

    def __init__(self, order: Sequence[Node]):
        self.order = list(order)
        self.predecessors = {id(node): sources for node, sources in predecessors(order).items()}
        self._position = {id(node): number for number, node in enumerate(order)}
        self._parent = self._find_parents()
        self._span = self._find_spans()

    def reachable(self, node: Node) -> bool:
        """Returns whether a path leads from the entry to `node`."""
        return id(node) in self._position

    def parent(self, node: Node) -> Node | None:
        """Returns the immediate dominator; None for the entry."""
        return None if node is self.order[0] else self._parent[id(node)]

    def dominates(self, upper: Node, lower: Node) -> bool:
        """Returns whether every path from the entry to `lower` passes `upper`. A node dominates itself."""
        first, last = self._span[id(upper)]
        return first <= self._span[id(lower)][0] <= last

    def position(self, node: Node) -> int:
        """Returns the place of a node in reverse postorder."""
        return self._position[id(node)]

    def _find_spans(self) -> dict[int, tuple[int, int]]:
        """Maps each node, by id, to its number in a preorder of the tree, and to the largest number below it."""
        sizes = dict.fromkeys(self._position, 1)
        for node in reversed(self.order[1:]):
            sizes[id(self._parent[id(node)])] += sizes[id(node)]
        spans, free = {id(self.order[0]): (0, len(self.order) - 1)}, {id(self.order[0]): 1}
        for node in self.order[1:]:
            above = id(self._parent[id(node)])
            first = free[above]
            free[above] += sizes[id(node)]
            spans[id(node)], free[id(node)] = (first, first + sizes[id(node)] - 1), first + 1
        return spans

    def _find_parents(self) -> dict[int, Node]:
        entry = self.order[0]
        parent: dict[int, Node] = {id(entry): entry}
        changed = True
        while changed:
            changed = False
            for node in self.order[1:]:
                known = [source for source in self.predecessors[id(node)] if id(source) in parent]
                best = known[0]
                for other in known[1:]:
                    best = self._meet(parent, best, other)
                if parent.get(id(node)) is not best:
                    parent[id(node)] = best
                    changed = True
        return parent

    def _meet(self, parent: dict[int, Node], a: Node, b: Node) -> Node:
        position = self._position
        while a is not b:
            while position[id(a)] > position[id(b)]:
                a = parent[id(a)]
            while position[id(b)] > position[id(a)]:
                b = parent[id(b)]
        return a


class Dominators(DominatorTree[ir.Block]):
    """The dominator tree of the blocks of a function that are reachable from its entry."""

    def __init__(self, function: ir.Function):
        super().__init__(reverse_postorder(function.blocks[0]))

    def taken_edge(self, block: ir.Block) -> ir.Block | None:
        """Returns the only predecessor of `block` that it does not dominate: every path first enters `block` from there.

        Returns None if there are several, or if both targets of its branch are `block`.
        """
        sources = [p for p in self.predecessors[id(block)] if not self.dominates(block, p)]
        return sources[0] if len(sources) == 1 else None
