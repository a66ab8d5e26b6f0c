"""What all work-items of a group do alike: values that are the same for all of them, and blocks they go through together.

A block is in lockstep if no branch on a value that differs between work-items decides whether, or how often, it is reached:
all work-items go through such blocks in one order, and a value computed there from such values is the same for all of them
each time (Coutinho et al., Divergence analysis and optimizations, PACT 2011).
"""

from __future__ import annotations

import re

from ...ir import ir
from ...ir.cfg import reached_from
from ...ir.dominators import Dominators
from ...ir.postdominators import joins

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


class Uniformity:
    """Of the blocks reachable from a kernel's entry."""

    def __init__(self, dominators: Dominators):
        self._order = dominators.order
        self._predecessors = dominators.predecessors
        self._joins = joins(self._order)
        self._differing: set[int] = set()
        self._apart: set[ir.Block] = set()
        while self._sweep():
            pass

    def uniform(self, value: ir.Value) -> bool:
        """Whether all work-items that compute a value in the same turn get the same."""
        return id(value) not in self._differing

    def holds(self, block: ir.Block) -> bool:
        """Whether all work-items go through `block` together."""
        return block not in self._apart

    def decides(self, block: ir.Block) -> bool:
        """Whether a block ends in a branch that all work-items take together, the same way."""
        return len(set(block.successors)) > 1 and self.holds(block) and self.uniform(block.terminator.operands[0])

    def _sweep(self) -> bool:
        before = len(self._differing) + len(self._apart)
        for block in self._order:
            for instr in block.instrs:
                if id(instr) not in self._differing and self._differs(instr, block):
                    self._differing.add(id(instr))
            if len(set(block.successors)) > 1 and not self.uniform(block.terminator.operands[0]):
                self._apart |= reached_from(block, self._joins.get(block))
        return len(self._differing) + len(self._apart) > before

    def _differs(self, instr: ir.Instr, block: ir.Block) -> bool:
        if instr.op == "phi":
            if not all(map(self.holds, [block, *self._predecessors[id(block)]])):
                return True
        elif not (instr.op in _PURE or (instr.callee is not None and _SAME.fullmatch(instr.callee.name))):
            return True
        return not all(map(self.uniform, instr.operands))
