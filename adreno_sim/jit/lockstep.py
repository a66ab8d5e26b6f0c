"""What all work-items of a group do alike: values that are the same for all of them, and blocks they go through together.

A block is in lockstep if no branch on a value that differs between work-items decides whether, or how often, it is reached:
all work-items go through such blocks in one order, and a value computed there from such values is the same for all of them
each time (Coutinho et al., Divergence analysis and optimizations, PACT 2011).
"""

from __future__ import annotations

import re

from ..clc import ir
from .dominators import Dominators

_SAME = re.compile(
    r"get_(group_id|num_groups|local_size|enqueued_local_size|global_size|global_offset|work_dim)"
    r"|convert_.*|as_.*|(f?min|f?max|clamp|abs|mul24|mad24)"
)
"""Functions whose result is the same where their operands are."""
_PURE = {
    "add", "sub", "mul", "udiv", "urem", "sdiv", "srem", "and", "or", "xor", "shl", "lshr", "ashr", "icmp", "fcmp", "select",
    "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp",
    "sitofp", "bitcast", "freeze", "extractelement", "insertelement", "shufflevector",
}  # fmt: skip


class Lockstep:
    """Of the blocks reachable from a kernel's entry."""

    def __init__(self, dominators: Dominators):
        self._order = dominators.order
        self._predecessors = dominators.predecessors
        self._joins = _joins(self._order)
        self._differing: set[int] = set()
        self._apart: set[int] = set()
        while self._sweep():
            pass

    def uniform(self, value: ir.Value) -> bool:
        """Whether all work-items that compute a value in the same turn get the same."""
        return id(value) not in self._differing

    def holds(self, block: ir.Block) -> bool:
        """Whether all work-items go through `block` together."""
        return id(block) not in self._apart

    def decides(self, block: ir.Block) -> bool:
        """Whether a block ends in a branch that all work-items take together, the same way."""
        last = block.instrs[-1]
        return len(set(map(id, last.blocks))) > 1 and self.holds(block) and self.uniform(last.operands[0])

    def _sweep(self) -> bool:
        before = len(self._differing) + len(self._apart)
        for block in self._order:
            for instr in block.instrs:
                if id(instr) not in self._differing and self._differs(instr, block):
                    self._differing.add(id(instr))
            last = block.instrs[-1]
            if len(set(map(id, last.blocks))) > 1 and not self.uniform(last.operands[0]):
                self._apart |= self._between(block)
        return len(self._differing) + len(self._apart) > before

    def _differs(self, instr: ir.Instr, block: ir.Block) -> bool:
        if instr.op == "phi":
            if not all(map(self.holds, [block, *self._predecessors[id(block)]])):
                return True
        elif not (instr.op in _PURE or (instr.callee is not None and _SAME.fullmatch(instr.callee.name))):
            return True
        return not all(map(self.uniform, instr.operands))

    def _between(self, branch: ir.Block) -> set[int]:
        """Ids of the blocks that control may pass from `branch` to where all its ways meet."""
        join, found = self._joins.get(id(branch)), set[int]()
        pending = list(branch.instrs[-1].blocks)
        while pending:
            block = pending.pop()
            if block is not join and id(block) not in found:
                found.add(id(block))
                pending += block.instrs[-1].blocks
        return found


def _joins(order: list[ir.Block]) -> dict[int, ir.Block]:
    """The first block that every way from a block to the end comes to (its immediate post-dominator), where there is one."""
    every = {id(block) for block in order}
    reached = {id(b): every if b.instrs[-1].blocks else {id(b)} for b in order}
    changed = True
    while changed:
        changed = False
        for block in reversed(order):
            if not block.instrs[-1].blocks:
                continue
            now = set.intersection(*(reached[id(s)] for s in block.instrs[-1].blocks)) | {id(block)}
            if now != reached[id(block)]:
                reached[id(block)], changed = now, True
    if not _all_end(order):
        return {}
    by_id = {id(block): block for block in order}
    found = {}
    for block in order:
        after = reached[id(block)] - {id(block)}
        # of the blocks that are always reached, the first is the one from which all others are
        first = [number for number in after if len(reached[number]) == len(after)]
        if len(first) == 1:
            found[id(block)] = by_id[first[0]]
    return found


def _all_end(order: list[ir.Block]) -> bool:
    """Whether every block has a way to the end."""
    ending = {id(b) for b in order if not b.instrs[-1].blocks}
    size = -1
    while size != len(ending):
        size = len(ending)
        ending |= {id(b) for b in order if any(id(s) in ending for s in b.instrs[-1].blocks)}
    return size == len(order)
