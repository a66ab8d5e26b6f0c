"""The dominator tree of a control flow graph, its dominance frontiers, and the edges that every path to a block takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Generic

from . import ir
from .cfg import Node, predecessors, reverse_postorder


class DominatorTree(Generic[Node]):
    """The dominator tree of the nodes `order`: all that are reachable from its first, in reverse postorder.

    predecessors: by the id of a node, one entry for each edge.
    """

    def __init__(self, order: Sequence[Node]):
        self.order = list(order)
        self.predecessors = {id(node): sources for node, sources in predecessors(order).items()}
        self._position = {id(node): number for number, node in enumerate(order)}
        sources = [[self._position[id(source)] for source in self.predecessors[id(node)]] for node in self.order]
        targets = [[self._position[id(target)] for target in node.successors] for node in self.order]
        self._parent = {id(node): self.order[up] for node, up in zip(self.order, find_parents(targets, sources), strict=True)}
        self._span = self._find_spans()

    def reachable(self, node: Node) -> bool:
        """Returns whether a path leads from the entry to `node`."""
        return id(node) in self._position

    def parent(self, node: Node) -> Node | None:
        """Returns the immediate dominator; None for the entry."""
        return None if node is self.order[0] else self._parent[id(node)]

    def children(self, node: Node) -> list[Node]:
        """Returns the nodes that `node` immediately dominates, in reverse postorder."""
        return self._children.get(id(node), [])

    def dominates(self, upper: Node, lower: Node) -> bool:
        """Returns whether every path from the entry to `lower` passes `upper`. A node dominates itself. Every node dominates
        one that no path reaches, as a front end leaves them behind a return."""
        if id(lower) not in self._span:
            return True
        first, last = self._span.get(id(upper), (1, 0))
        return first <= self._span[id(lower)][0] <= last

    def span(self, node: Node) -> tuple[int, int]:
        """Returns a node's number in a preorder of the tree, and the largest number below it."""
        return self._span[id(node)]

    def position(self, node: Node) -> int:
        """Returns the place of a node in reverse postorder."""
        return self._position[id(node)]

    def frontier(self, node: Node) -> list[Node]:
        """Returns the dominance frontier: nodes that `node` does not strictly dominate, while it dominates some predecessor of
        them."""
        return self._frontiers.get(id(node), [])

    @cached_property
    def _children(self) -> dict[int, list[Node]]:
        found: dict[int, list[Node]] = {}
        for node in self.order[1:]:
            found.setdefault(id(self._parent[id(node)]), []).append(node)
        return found

    @cached_property
    def _frontiers(self) -> dict[int, list[Node]]:
        found: dict[int, list[Node]] = {}
        for join in self.order:
            sources = self.predecessors[id(join)]
            if len(sources) < 2 and join is not self.order[0]:
                continue
            passed: set[int] = set()
            for source in sources:
                node: Node | None = source
                while node is not None and node is not self.parent(join) and id(node) not in passed:
                    passed.add(id(node))
                    found.setdefault(id(node), []).append(join)
                    node = self.parent(node)
        return found

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


def find_parents(targets: Sequence[Sequence[int]], sources: Sequence[Sequence[int]]) -> list[int]:
    """Returns the immediate dominator of each node of a graph, whose nodes are numbers and all reachable from node 0; 0 for 0.

    targets, sources: the successors and predecessors of each node. This is the algorithm of Lengauer and Tarjan with path
    compression: its time is near linear also where thousands of paths meet at one node.
    """
    order, above = _search_depth_first(targets)
    number = [0] * len(order)
    for place, node in enumerate(order):
        number[node] = place
    # From here on a node is its number in the search.
    semi = list(range(len(order)))
    best = list(range(len(order)))
    linked = [-1] * len(order)
    waiting: list[list[int]] = [[] for _ in order]
    parent = [0] * len(order)
    for node in range(len(order) - 1, 0, -1):
        for source in sources[order[node]]:
            semi[node] = min(semi[node], semi[_evaluate(number[source], linked, best, semi)])
        waiting[semi[node]].append(node)
        linked[node] = up = above[node]
        for other in waiting[up]:
            least = _evaluate(other, linked, best, semi)
            parent[other] = least if semi[least] < semi[other] else up
        waiting[up] = []
    for node in range(1, len(order)):
        if parent[node] != semi[node]:
            parent[node] = parent[parent[node]]
    return [order[parent[number[node]]] for node in range(len(order))]


def _search_depth_first(targets: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Returns the nodes in the order of a depth-first search from node 0, and for each place in it that of the node above."""
    order, above = [0], [0]
    seen = [False] * len(targets)
    seen[0] = True
    stack = [(0, iter(targets[0]))]
    while stack:
        place, rest = stack[-1]
        for node in rest:
            if not seen[node]:
                seen[node] = True
                stack.append((len(order), iter(targets[node])))
                order.append(node)
                above.append(place)
                break
        else:
            stack.pop()
    return order, above


def _evaluate(node: int, linked: list[int], best: list[int], semi: list[int]) -> int:
    """Returns the node of least semidominator on the way from `node` up to below the root of its linked tree."""
    if linked[node] < 0:
        return node
    path = []
    while linked[linked[node]] >= 0:
        path.append(node)
        node = linked[node]
    for lower in reversed(path):  # each is linked to the root, and knows the best of what it skips
        upper = linked[lower]
        if semi[best[upper]] < semi[best[lower]]:
            best[lower] = best[upper]
        linked[lower] = linked[upper]
        node = lower
    return best[node]
