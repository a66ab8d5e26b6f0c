"""Uniformity (divergence) analysis: values that are equal in all work-items of a group, and blocks that they enter together.

A block is convergent if no divergent branch decides whether, or how often, it is reached. All work-items pass such blocks in
the same order, and a value computed there from uniform operands is uniform in each iteration (Coutinho et al., "Divergence
analysis and optimizations", PACT 2011).
"""

from __future__ import annotations

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.cfg import reachable_from
from ...ir.dominators import Dominators
from ...ir.postdominators import PostDominators

_PURE = {
    "add", "sub", "mul", "udiv", "urem", "sdiv", "srem", "and", "or", "xor", "shl", "lshr", "ashr", "icmp", "fcmp", "select",
    "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp",
    "sitofp", "bitcast", "freeze", "extractelement", "insertelement", "shufflevector",
}  # fmt: skip


class Uniformity:
    """The uniformity of the values and blocks reachable from a kernel's entry."""

    def __init__(self, dominators: Dominators):
        self._order = dominators.order
        self._predecessors = dominators.predecessors
        self._after = PostDominators(self._order)
        self._divergent_values: set[int] = set()
        self._divergent_blocks: set[ir.Block] = set()
        while self._sweep():
            pass

    def is_uniform(self, value: ir.Value) -> bool:
        """Returns True if all work-items that compute `value` in the same iteration get the same result."""
        return id(value) not in self._divergent_values

    def is_convergent(self, block: ir.Block) -> bool:
        """Returns True if all work-items of a group execute `block` together."""
        return block not in self._divergent_blocks

    def is_uniform_branch(self, block: ir.Block) -> bool:
        """Returns True if `block` ends in a branch that all work-items execute together and take the same way."""
        return len(set(block.successors)) > 1 and self.is_convergent(block) and self.is_uniform(block.terminator.operands[0])

    def _sweep(self) -> bool:
        before = len(self._divergent_values) + len(self._divergent_blocks)
        for block in self._order:
            for instr in block.instrs:
                if id(instr) not in self._divergent_values and self._is_divergent(instr, block):
                    self._divergent_values.add(id(instr))
            # What a branch among divergent blocks reaches before its paths meet, the branch that made them so reaches too.
            if len(set(block.successors)) > 1 and self.is_convergent(block) and not self.is_uniform(block.terminator.operands[0]):
                join = self._after.find_immediate(block) if self._after.all_end else None
                self._divergent_blocks |= reachable_from(block, join)
        return len(self._divergent_values) + len(self._divergent_blocks) > before

    def _is_divergent(self, instr: ir.Instr, block: ir.Block) -> bool:
        if instr.op == "phi":
            if not all(map(self.is_convergent, [block, *self._predecessors[id(block)]])):
                return True
        elif not (instr.op in _PURE or builtin_of(instr).uniformity in ("group", "operands")):
            return True
        return not all(map(self.is_uniform, instr.operands))
