"""The conditions on which work-items reach a block: all of them, and no others.

`PathConditions` says what holds in a block, and may leave some of it out. Here a block that is reached on other conditions than
those that affine forms tell has no answer.
"""

from __future__ import annotations

from ...ir import ir
from ...ir.postdominators import PostDominators
from ..analysis.affine import AffineForms
from ..analysis.bounds import MAX_HELD
from ..analysis.linear import Linear
from ..analysis.path_conditions import INVERSE, SWAPPED, is_constant, order_constraints

_DEPTH = 24
_NEVER = Linear.number(1)


class ExactConditions:
    """Conditions as sums that are at most 0, each once. Each method returns None if there is no such list, or a longer one than
    MAX_HELD."""

    def __init__(self, forms: AffineForms, ends: PostDominators):
        self._forms, self._ends = forms, ends
        self._blocks: dict[int, list[Linear] | None] = {}
        self._values: dict[tuple[int, bool], list[Linear] | None] = {}

    def of_block(self, block: ir.Block) -> list[Linear] | None:
        """Returns the conditions on which a block that is in no loop is reached."""
        if not self._ends.all_end:
            return None
        below = list[ir.Block]()
        here: ir.Block | None = block
        while here is not None and id(here) not in self._blocks:
            below.append(here)
            self._blocks[id(here)] = None  # what depends on itself
            here = self._forms.dominators.parent(here)
        for unknown in reversed(below):
            self._blocks[id(unknown)] = self._find(unknown)
        return self._blocks[id(block)]

    def _find(self, block: ir.Block) -> list[Linear] | None:
        """Adds to the conditions of the block above what decides that control goes on to this one."""
        dominators = self._forms.dominators
        above = dominators.parent(block)
        if above is None:
            return []
        before = self._blocks[id(above)]
        if self._ends.post_dominates(block, above):
            return before
        last = above.terminator
        if dominators.predecessors[id(block)] != [above] or last.op != "condbr" or last.blocks.count(block) != 1:
            return None
        return _both(before, self._of(last.operands[0], last.blocks[0] is block, 0))

    def _of(self, condition: ir.Value, truth: bool, depth: int) -> list[Linear] | None:
        """Returns the conditions on which `condition`, 0 or 1, equals `truth`."""
        if isinstance(condition, ir.Const):
            return [] if is_constant(condition, truth) else [_NEVER]
        if not isinstance(condition, ir.Instr) or depth > _DEPTH:
            return None
        key = id(condition), truth
        if key not in self._values:
            self._values[key] = self._combine(condition, truth, depth)
        return self._values[key]

    def _combine(self, condition: ir.Instr, truth: bool, depth: int) -> list[Linear] | None:
        op, operands = condition.op, condition.operands
        if op == "icmp":
            return self._of_comparison(condition, truth, depth)
        if not self._forms.conditions.is_boolean(condition):
            return None
        if op in ("zext", "freeze", "trunc") and self._forms.conditions.is_boolean(operands[0]):
            return self._of(operands[0], truth, depth + 1)
        if op == ("and" if truth else "or"):
            return _both(self._of(operands[0], truth, depth + 1), self._of(operands[1], truth, depth + 1))
        if op == "xor" and is_constant(operands[1], True):
            return self._of(operands[0], not truth, depth + 1)
        if op == "select" and not isinstance(operands[0].type, ir.Vector):
            return self._of_select(operands, truth, depth)
        return self._of_phi(condition, truth, depth) if op == "phi" else None

    def _of_select(self, operands: list[ir.Value], truth: bool, depth: int) -> list[Linear] | None:
        choice, first, second = operands
        if is_constant(second, not truth):
            return _both(self._of(choice, True, depth + 1), self._of(first, truth, depth + 1))
        if is_constant(first, not truth):
            return _both(self._of(choice, False, depth + 1), self._of(second, truth, depth + 1))
        return None

    def _of_phi(self, phi: ir.Instr, truth: bool, depth: int) -> list[Linear] | None:
        """Handles `c && x` written as a phi: on all edges but one the value is the wrong constant."""
        ways = [(v, b) for v, b in zip(phi.operands, phi.blocks, strict=True) if not is_constant(v, not truth)]
        here = self._forms.block_of[id(phi)]
        if len(ways) != 1 or ways[0][1].successors != [here]:
            return None
        value, source = ways[0]
        return _both(self.of_block(source), self._of(value, truth, depth + 1))

    def _of_comparison(self, test: ir.Instr, truth: bool, depth: int) -> list[Linear] | None:
        left, right = test.operands
        pred = test.pred if truth else INVERSE[test.pred]
        if pred in ("eq", "ne"):
            if isinstance(right, ir.Const) and self._forms.conditions.is_boolean(left):
                return self._of(left, (pred == "eq") == is_constant(right, True), depth + 1) if right.value in (0, 1) else None
            return self._of_equality(left, right) if pred == "eq" else None
        if not isinstance(left.type, ir.Int) or left.type.bits == 1:
            return None
        a, b = self._forms.of(left), self._forms.of(right)
        if pred in SWAPPED:
            a, b, pred = b, a, SWAPPED[pred]
        if pred[0] == "u" and self._forms.bounds_at(test).range_of(b)[0] < 0:
            return None
        return order_constraints(a, b, pred)

    def _of_equality(self, left: ir.Value, right: ir.Value) -> list[Linear] | None:
        if not isinstance(left.type, ir.Int) or left.type.bits == 1:
            return None
        a, b = self._forms.of(left), self._forms.of(right)
        return [*order_constraints(a, b, "sle"), *order_constraints(b, a, "sle")]


def _both(one: list[Linear] | None, other: list[Linear] | None) -> list[Linear] | None:
    if one is None or other is None:
        return None
    every = {id(condition): condition for condition in (*one, *other)}
    return list(every.values()) if len(every) <= MAX_HELD else None
