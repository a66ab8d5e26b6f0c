"""Blocks that are reached in any case."""

from __future__ import annotations

from ...clc import ir


def always_reached(function: ir.Function) -> dict[ir.Block, set[ir.Block]]:
    """For each block those that every way from it to the end passes, itself included (its post-dominators)."""
    every = set(function.blocks)
    found = {block: set(every) if block.successors else {block} for block in function.blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(function.blocks):
            if not block.successors:
                continue
            now = set.intersection(*(found[successor] for successor in block.successors)) | {block}
            if now != found[block]:
                found[block], changed = now, True
    return found
