"""Blocks that are reached in any case (post-dominators)."""

from __future__ import annotations

from collections.abc import Sequence

from . import ir


def find_postdominators(blocks: Sequence[ir.Block]) -> dict[ir.Block, set[ir.Block]]:
    """For each block of a function those that every way from it to the end passes, itself included.

    Of a block that has no way to the end, everything is said. Quickest where `blocks` are in an order of control flow.
    """
    every = set(blocks)
    found = {block: set(every) if block.successors else {block} for block in blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            if not block.successors:
                continue
            now = set.intersection(*(found[successor] for successor in block.successors)) | {block}
            if now != found[block]:
                found[block], changed = now, True
    return found


def immediate_postdominators(blocks: Sequence[ir.Block]) -> dict[ir.Block, ir.Block]:
    """The first block that every way from a block comes to (its immediate post-dominator), where there is one.

    There are none of a function in which some block has no way to the end.
    """
    if not _all_reach_end(blocks):
        return {}
    reached, found = find_postdominators(blocks), {}
    for block in blocks:
        after = reached[block] - {block}
        first = [other for other in after if len(reached[other]) == len(after)]  # from it all the others are reached
        if first:
            found[block] = first[0]
    return found


def _all_reach_end(blocks: Sequence[ir.Block]) -> bool:
    ending = {block for block in blocks if not block.successors}
    before = -1
    while before != len(ending):
        before = len(ending)
        ending |= {block for block in blocks if not ending.isdisjoint(block.successors)}
    return before == len(blocks)
