"""Where variables need phis: the blocks at which definitions meet (iterated dominance frontiers), if the value is read behind.

Sets of variables are integers, a bit for each variable: many variables live through many blocks.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.dominators import Dominators
from ...ir.ir import Block


def place_phis(tree: Dominators, defined: Mapping[Block, int], read: Mapping[Block, int]) -> dict[Block, list[int]]:
    """Returns the numbers of the variables that need a phi, ascending, by block; no block that needs none.

    defined: the variables that a block assigns. read: those that it reads before it assigns them.
    """
    live = _find_live_in(tree, defined, read)
    phis = dict.fromkeys(tree.order, 0)
    pending = [(block, variables) for block, variables in defined.items() if variables]
    while pending:
        block, variables = pending.pop()
        for join in tree.frontier(block):
            fresh = variables & live[join] & ~phis[join]
            if fresh:
                phis[join] |= fresh
                pending.append((join, fresh))
    return {block: _numbers(variables) for block, variables in phis.items() if variables}


def _find_live_in(tree: Dominators, defined: Mapping[Block, int], read: Mapping[Block, int]) -> dict[Block, int]:
    """Returns the variables that are live at the start of each block (backward data flow)."""
    live = dict.fromkeys(tree.order, 0)
    pending = set(tree.order)
    while pending:  # in rounds: a round takes each block once, after the blocks that follow it
        following_round: set[Block] = set()
        for block in reversed(tree.order):
            if block not in pending:
                continue
            after = 0
            for successor in block.successors:
                after |= live[successor]
            now = read.get(block, 0) | (after & ~defined.get(block, 0))
            if now != live[block]:
                live[block] = now
                for source in tree.predecessors[id(block)]:
                    goes_back = tree.position(source) >= tree.position(block)
                    (following_round if goes_back else pending).add(source)
        pending = following_round
    return live


def _numbers(variables: int) -> list[int]:
    """Returns the numbers of the bits that are set, ascending."""
    found = []
    while variables:
        lowest = variables & -variables
        found.append(lowest.bit_length() - 1)
        variables ^= lowest
    return found
