"""The conditions on which work-items reach a block: all of them, and no others.

`PathConditions` says what holds in a block, and may leave some of it out. Here a block that is reached on other conditions than
those that affine forms tell has no answer.
"""

from __future__ import annotations

from ...ir import ir
from ...ir.postdominators import PostDominators
from ..analysis.affine import AffineForms
from ..analysis.linear import Linear
from ..analysis.path_conditions import INVERSE, SWAPPED, is_constant, order_constraints

_DEPTH = 24
_NEVER = Linear.number(1)


class ExactConditions:
    """Conditions as sums that are at most 0. Each method returns None if there is no such list."""

    def __init__(self, forms: AffineForms, ends: PostDominators):
        self._forms, self._ends = forms, ends
        self._blocks: dict[int, list[Linear] | None] = {}

    def of_block(self, block: ir.Block) -> list[Linear] | None:
        """Returns the conditions on which a block that is in no loop is reached."""
        if not self._ends.all_end:
            return None
        if id(block) not in self._blocks:
            self._blocks[id(block)] = None  # what depends on itself
            self._blocks[id(block)] = self._find(block)
        return self._blocks[id(block)]

    def _find(self, block: ir.Block) -> list[Linear] | None:
        """Follows the dominators up: one that control always leaves for `block` adds nothing, else one branch decides."""
        dominators, found = self._forms.dominators, list[Linear]()
        here = block
        while (above := dominators.parent(here)) is not None:
            if not self._always_follows(here, above):
                last = above.terminator
                if dominators.predecessors[id(here)] != [above] or last.op != "condbr" or last.blocks.count(here) != 1:
                    return None
                branch = self._of(last.operands[0], last.blocks[0] is here, 0)
                if branch is None:
                    return None
                found += branch
            here = above
        return found

    def _always_follows(self, block: ir.Block, above: ir.Block) -> bool:
        span, there = self._ends.span(block), self._ends.span(above)
        return span is not None and there is not None and span[0] <= there[0] <= span[1]

    def _of(self, condition: ir.Value, truth: bool, depth: int) -> list[Linear] | None:
        """Returns the conditions on which `condition`, 0 or 1, equals `truth`."""
        if isinstance(condition, ir.Const):
            return [] if is_constant(condition, truth) else [_NEVER]
        if not isinstance(condition, ir.Instr) or depth > _DEPTH:
            return None
        op, operands = condition.op, condition.operands
        if op == "icmp":
            return self._of_comparison(condition, truth, depth)
        if not self._forms.conditions.is_boolean(condition):
            return None
        if op in ("zext", "freeze", "trunc") and self._forms.conditions.is_boolean(operands[0]):
            return self._of(operands[0], truth, depth + 1)
        if op == ("and" if truth else "or"):
            return self._both(self._of(operands[0], truth, depth + 1), self._of(operands[1], truth, depth + 1))
        if op == "xor" and is_constant(operands[1], True):
            return self._of(operands[0], not truth, depth + 1)
        if op == "select" and not isinstance(operands[0].type, ir.Vector):
            return self._of_select(operands, truth, depth)
        return self._of_phi(condition, truth, depth) if op == "phi" else None

    def _of_select(self, operands: list[ir.Value], truth: bool, depth: int) -> list[Linear] | None:
        choice, first, second = operands
        if is_constant(second, not truth):
            return self._both(self._of(choice, True, depth + 1), self._of(first, truth, depth + 1))
        if is_constant(first, not truth):
            return self._both(self._of(choice, False, depth + 1), self._of(second, truth, depth + 1))
        return None

    def _of_phi(self, phi: ir.Instr, truth: bool, depth: int) -> list[Linear] | None:
        """Handles `c && x` written as a phi: on all edges but one the value is the wrong constant."""
        ways = [(v, b) for v, b in zip(phi.operands, phi.blocks, strict=True) if not is_constant(v, not truth)]
        here = self._forms.block_of[id(phi)]
        if len(ways) != 1 or ways[0][1].successors != [here]:
            return None
        value, source = ways[0]
        return self._both(self.of_block(source), self._of(value, truth, depth + 1))

    def _of_comparison(self, test: ir.Instr, truth: bool, depth: int) -> list[Linear] | None:
        left, right = test.operands
        pred = test.pred if truth else INVERSE[test.pred]
        if pred in ("eq", "ne"):
            known = isinstance(right, ir.Const) and right.value in (0, 1) and self._forms.conditions.is_boolean(left)
            return self._of(left, (pred == "eq") == is_constant(right, True), depth + 1) if known else None
        if not isinstance(left.type, ir.Int) or left.type.bits == 1:
            return None
        a, b = self._forms.of(left), self._forms.of(right)
        if pred in SWAPPED:
            a, b, pred = b, a, SWAPPED[pred]
        if pred[0] == "u" and self._forms.bounds_at(test).range_of(b)[0] < 0:
            return None
        return order_constraints(a, b, pred)

    @staticmethod
    def _both(one: list[Linear] | None, other: list[Linear] | None) -> list[Linear] | None:
        return None if one is None or other is None else one + other
