"""What holds in a block because of the branches that lead there: each as a linear expression that is at most 0.

A branch counts for every block that all paths enter by its edge. Its condition speaks of the values as they are there: what a
later turn of a loop computes anew has gone by that edge again.
"""

from __future__ import annotations

from typing import Protocol

from ...ir import ir
from ...ir.dominators import Dominators
from .bounds import Context
from .linear import Atoms, Linear

_INVERSE = {
    "eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle", "ult": "uge", "uge": "ult", "ule": "ugt",
    "ugt": "ule",
}  # fmt: skip
_SWAPPED = {"sgt": "slt", "sge": "sle", "ugt": "ult", "uge": "ule"}
_DEPTH = 24
"""Conditions nested deeper than this are not looked into."""


class Forms(Protocol):
    """What conditions are read from: linear expressions of values, and what holds where an instruction is."""

    @property
    def atoms(self) -> Atoms: ...
    @property
    def dominators(self) -> Dominators: ...
    @property
    def block_of(self) -> dict[int, ir.Block]: ...
    def form(self, value: ir.Value) -> Linear: ...
    def context(self, instr: ir.Instr) -> Context: ...


class Conditions:
    """The conditions of one kernel. Contexts are made when first asked for."""

    def __init__(self, forms: Forms):
        self._forms = forms
        self._contexts: dict[int, Context] = {}
        self._trail: list[int] = []

    def at(self, block: ir.Block) -> Context:
        """What holds in `block`."""
        known = self._contexts.get(id(block))
        if known is None:
            parent = self._forms.dominators.parent(block)
            above = self.at(parent) if parent is not None else Context(self._forms.atoms)
            source = self._forms.dominators.taken_edge(block)
            own = self._of_edge(source, block) if source is not None else []
            known = Context(self._forms.atoms, above, own) if own else above
            self._contexts[id(block)] = known
            self._trail.append(id(block))
        return known

    def on_edge(self, source: ir.Block, target: ir.Block) -> Context:
        """What holds when control goes from `source` to `target`."""
        own = self._of_edge(source, target)
        return Context(self._forms.atoms, self.at(source), own) if own else self.at(source)

    def mark(self) -> int:
        return len(self._trail)

    def forget(self, mark: int) -> None:
        """Drop the contexts made since `mark`."""
        for number in self._trail[mark:]:
            self._contexts.pop(number, None)
        del self._trail[mark:]

    def _of_edge(self, source: ir.Block, target: ir.Block) -> list[Linear]:
        last = source.terminator
        if last.blocks.count(target) != 1:
            return []
        if last.op == "condbr":
            return self.facts(last.operands[0], last.blocks[0] is target)
        if last.op == "switch" and last.blocks[0] is not target:
            value = last.operands[0]
            case = ir.Const(value.type, last.cases[last.blocks.index(target) - 1])
            return _equal(self._forms.form(value), self._forms.form(case))
        return []

    def facts(self, condition: ir.Value, truth: bool, depth: int = 0) -> list[Linear]:
        """What follows where a condition (an i1, or an integer that is 0 or 1) is as `truth` says."""
        if not isinstance(condition, ir.Instr) or depth > _DEPTH:
            return []
        op, operands = condition.op, condition.operands
        if op == "icmp":
            return self._comparison(condition, truth, depth)
        if op in ("zext", "sext", "freeze") or (op == "trunc" and _is_truth(operands[0])):
            return self.facts(operands[0], truth, depth + 1) if _is_truth(operands[0]) else []
        if op == ("and" if truth else "or") and _is_truth(condition):
            return [f for part in operands for f in self.facts(part, truth, depth + 1)]
        if op == "xor" and _is_truth(condition):
            return self._negated(operands, truth, depth)
        if op == "select":
            return self._chosen(operands, truth, depth)
        return self._joined(condition, truth, depth) if op == "phi" else []

    def _negated(self, operands: list[ir.Value], truth: bool, depth: int) -> list[Linear]:
        value, other = operands
        if isinstance(other, ir.Const) and isinstance(other.value, int) and other.value & 1:
            return self.facts(value, not truth, depth + 1)
        return []

    def _chosen(self, operands: list[ir.Value], truth: bool, depth: int) -> list[Linear]:
        """`c && x` and `c || x` as a select: where one way has the wrong constant, it was the other."""
        condition, first, second = operands
        if isinstance(condition.type, ir.Vector):
            return []
        if _is_constant(second, not truth):
            return self.facts(condition, True, depth + 1) + self.facts(first, truth, depth + 1)
        if _is_constant(first, not truth):
            return self.facts(condition, False, depth + 1) + self.facts(second, truth, depth + 1)
        return []

    def _joined(self, phi: ir.Instr, truth: bool, depth: int) -> list[Linear]:
        """`c && x` as a phi: where all ways but one have the wrong constant, control came by that one.

        Not by a back edge: what held before it may be computed anew behind the phi.
        """
        if not _is_truth(phi):
            return []
        ways = [(v, b) for v, b in zip(phi.operands, phi.blocks, strict=True) if not _is_constant(v, not truth)]
        here = self._forms.block_of[id(phi)]
        dominators = self._forms.dominators
        if len(ways) != 1 or not dominators.reachable(ways[0][1]) or dominators.dominates(here, ways[0][1]):
            return []
        value, source = ways[0]
        return self.on_edge(source, here).constraints + self.facts(value, truth, depth + 1)

    def _comparison(self, test: ir.Instr, truth: bool, depth: int) -> list[Linear]:
        left, right = test.operands
        pred = test.pred if truth else _INVERSE[test.pred]
        if pred in ("eq", "ne") and _is_truth(left) and isinstance(right, ir.Const) and _is_truth(right):
            return self.facts(left, (pred == "eq") == _is_constant(right, True), depth + 1)
        if not isinstance(left.type, ir.Int) or left.type.bits == 1:
            return []
        a, b = self._forms.form(left), self._forms.form(right)
        if pred in _SWAPPED:
            a, b, pred = b, a, _SWAPPED[pred]
        if pred[0] == "u" and not self._not_negative(test, b):
            return []
        return _ordered(a, b, pred) if pred not in ("eq", "ne") else self._equality(test, a, b, pred)

    def _not_negative(self, test: ir.Instr, value: Linear) -> bool:
        context = self._forms.context(test)
        low, _ = context.interval(value)
        return low >= 0 or context.tight(value)[0] >= 0

    def _equality(self, test: ir.Instr, a: Linear, b: Linear, pred: str) -> list[Linear]:
        """Equal; or unequal, which tells something at the end of an interval."""
        if pred == "eq":
            return _equal(a, b)
        distance = a.plus(b, -1)
        low, high = self._forms.context(test).tight(distance)
        if low == 0:
            return [distance.times(-1).shifted(1)]
        return [distance.shifted(1)] if high == 0 else []


def _equal(a: Linear, b: Linear) -> list[Linear]:
    return _useful([a.plus(b, -1), b.plus(a, -1)])


def _ordered(a: Linear, b: Linear, pred: str) -> list[Linear]:
    """a < b or a <= b; unsigned ones where b is not negative, so that a is not either."""
    found = [a.plus(b, -1).shifted(1 if pred.endswith("t") else 0)]
    if pred[0] == "u":
        found.append(a.times(-1))
    return _useful(found)


def _useful(facts: list[Linear]) -> list[Linear]:
    return [f for f in facts if f.terms]


def _is_constant(value: ir.Value, truth: bool) -> bool:
    return isinstance(value, ir.Const) and isinstance(value.value, int) and bool(value.value & 1) == truth


def _is_truth(value: ir.Value, depth: int = 0) -> bool:
    """Whether a value is an i1, or an integer made of them that is 0 or 1."""
    if value.type == ir.Int(1):
        return True
    if depth > _DEPTH or not isinstance(value.type, ir.Int):
        return False
    if isinstance(value, ir.Const):
        return value.value in (0, 1)
    if not isinstance(value, ir.Instr):
        return False
    if value.op == "zext":
        return value.operands[0].type == ir.Int(1) or _is_truth(value.operands[0], depth + 1)
    if value.op in ("and", "or", "xor", "phi", "freeze"):
        return all(_is_truth(v, depth + 1) for v in value.operands)
    return value.op == "select" and all(_is_truth(v, depth + 1) for v in value.operands[1:])
