"""Post-dominators of the blocks of a function."""

from __future__ import annotations

from collections.abc import Sequence

from . import ir


def find_postdominators(blocks: Sequence[ir.Block]) -> dict[ir.Block, set[ir.Block]]:
    """Maps each block to its post-dominators: the blocks on every path from it to an exit, itself included.

    A block without a path to an exit has all blocks as post-dominators. The iteration is fastest if `blocks` are in control
    flow order.
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
    """Maps a block to its immediate post-dominator, if it has one.

    Returns an empty map if some block has no path to an exit.
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
