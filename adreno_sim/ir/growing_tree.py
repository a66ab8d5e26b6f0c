"""A tree that grows by leaves, and the nearest common ancestors of its nodes."""

from __future__ import annotations

from typing import Generic, TypeVar

_Node = TypeVar("_Node")


class GrowingTree(Generic[_Node]):
    """parents: the node above each; the root's is itself.

    Each node also knows one ancestor further up, so that a search takes steps of the logarithm of the depth (E. W. Myers, An
    applicative random-access stack, 1983).
    """

    def __init__(self, root: _Node):
        self.parents = {root: root}
        self._far = {root: root}
        self._depths = {root: 0}

    def add(self, node: _Node, parent: _Node) -> None:
        """Adds a leaf below `parent`."""
        near = self._far[parent]
        far = self._far[near]
        alike = self._depths[parent] - self._depths[near] == self._depths[near] - self._depths[far]
        self.parents[node], self._far[node] = parent, far if alike else parent
        self._depths[node] = self._depths[parent] + 1

    def find_common(self, a: _Node, b: _Node) -> _Node:
        """Returns the deepest node that is `a` or above it, and `b` or above it."""
        if self._depths[a] < self._depths[b]:
            a, b = b, a
        depth = self._depths[b]
        while self._depths[a] > depth:
            far = self._far[a]
            a = far if self._depths[far] >= depth else self.parents[a]
        while a is not b:  # at one depth, where all know ancestors equally far up
            step = self._far if self._far[a] is not self._far[b] else self.parents
            a, b = step[a], step[b]
        return a
