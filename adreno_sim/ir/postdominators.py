"""Post-dominators of the blocks of a function."""

from __future__ import annotations

from collections.abc import Sequence

from . import ir
from .cfg import reverse_postorder
from .dominators import DominatorTree

Span = tuple[int, int]
"""A block's number in a preorder of the tree, and the largest number below it."""


class _Point:
    """A block in the reversed graph, or the end of all paths (block None)."""

    def __init__(self, block: ir.Block | None):
        self.block = block
        self.successors: list[_Point] = []


class PostDominators:
    """The post-dominators of each block: the blocks on every path from it to an exit, itself included.

    A block without a path to an exit has all blocks as post-dominators, and no immediate one.
    """

    def __init__(self, blocks: Sequence[ir.Block]):
        self._points = {block: _Point(block) for block in blocks}
        end = _Point(None)
        for block in blocks:
            for after in [self._points[b] for b in block.successors] or [end]:
                after.successors.append(self._points[block])
        order = reverse_postorder(end)
        self._tree = DominatorTree(order)
        self.all_end = len(order) == len(blocks) + 1
        """Whether each block has a path to an exit."""

    def find_immediate(self, block: ir.Block) -> ir.Block | None:
        """Returns the first block after `block` that all its paths to an exit pass; None if there is no such."""
        point = self._points[block]
        above = self._tree.parent(point) if self._tree.reachable(point) else None
        return above.block if above else None

    def post_dominates(self, later: ir.Block, block: ir.Block) -> bool:
        """Returns whether every path from `block` to an exit passes `later`; False if none leads from one of them to an exit."""
        upper, lower = self._points[later], self._points[block]
        return self._tree.reachable(upper) and self._tree.reachable(lower) and self._tree.dominates(upper, lower)

    def span(self, block: ir.Block) -> Span | None:
        """Returns where a block is in the tree: it post-dominates those whose number its span holds. None: no path leads from
        it to an exit."""
        point = self._points[block]
        return self._tree.span(point) if self._tree.reachable(point) else None
