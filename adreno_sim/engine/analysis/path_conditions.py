"""Path conditions: constraints that hold in a block because of the branches that lead to it.

A branch constrains every block that is entered only by its edge. A condition holds for the values of the current iteration: a
later iteration that computes them again has passed the edge again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from ...ir import ir
from ...ir.dominators import Dominators
from .bounds import MAX_HELD, Bounds
from .linear import Linear, SymbolTable

INVERSE = {
    "eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle", "ult": "uge", "uge": "ult", "ule": "ugt",
    "ugt": "ule",
}  # fmt: skip
SWAPPED = {"sgt": "slt", "sge": "sle", "ugt": "ult", "uge": "ule"}
_DEPTH = 24
"""Conditions nested deeper than this are ignored."""


class BranchCondition(NamedTuple):
    """A branch that is always taken the same way on the way to a block: its terminator, and the constraints that follow, none if
    the analysis makes nothing of the condition."""

    branch: ir.Instr
    constraints: list[Linear]


class Forms(Protocol):
    """What the conditions are read from: affine forms of values, and the bounds where an instruction executes."""

    @property
    def symbols(self) -> SymbolTable: ...
    @property
    def dominators(self) -> Dominators: ...
    @property
    def block_of(self) -> dict[int, ir.Block]: ...
    def of(self, value: ir.Value) -> Linear: ...
    def bounds_at(self, instr: ir.Instr) -> Bounds: ...


class PathConditions:
    """The path conditions of one kernel. Bounds are made when first asked for."""

    def __init__(self, forms: Forms):
        self._forms = forms
        self._known: dict[int, Bounds] = {}
        self._trail: list[int] = []
        self._booleans: dict[int, bool] = {}
        self._open = 0
        self._found: dict[tuple[int, bool], list[Linear]] = {}  # by value (its id) and truth, while one condition is read

    def bounds_at(self, block: ir.Block) -> Bounds:
        """Returns the bounds that hold in `block`."""
        known = self._known.get(id(block))
        if known is not None:
            return known
        dominators, below = self._forms.dominators, list[ir.Block]()
        here: ir.Block | None = block
        while here is not None and id(here) not in self._known:
            below.append(here)
            here = dominators.parent(here)
        for unknown in reversed(below):  # from the top down: what a branch says is read under the bounds above it
            if id(unknown) not in self._known:
                self._known[id(unknown)] = self._make_bounds(unknown)
                self._trail.append(id(unknown))
        return self._known[id(block)]

    def _make_bounds(self, block: ir.Block) -> Bounds:
        parent, source = self._forms.dominators.parent(block), self._forms.dominators.taken_edge(block)
        own = self._edge_constraints(source, block) if source is not None else []
        above = self.bounds_at(parent) if parent is not None else Bounds(self._forms.symbols)
        return Bounds(self._forms.symbols, above, own) if own else above

    def bounds_on_edge(self, source: ir.Block, target: ir.Block) -> Bounds:
        """Returns the bounds that hold when control goes from `source` to `target`."""
        own = self._edge_constraints(source, target)
        return Bounds(self._forms.symbols, self.bounds_at(source), own) if own else self.bounds_at(source)

    def conditions_at(self, block: ir.Block) -> list[BranchCondition]:
        """Returns the branches whose conditions hold in `block`, nearest first."""
        dominators, found = self._forms.dominators, list[BranchCondition]()
        here: ir.Block | None = block
        while here is not None:
            above, source = dominators.parent(here), dominators.taken_edge(here)
            if above is not None and source is not None and source.terminator.blocks.count(here) == 1 != len(source.successors):
                same = self.bounds_at(here) is self.bounds_at(above)
                found.append(BranchCondition(source.terminator, [] if same else self.bounds_at(here).own))
            here = above
        return found

    def mark(self) -> int:
        """Returns a mark to which `roll_back` can return."""
        return len(self._trail)

    def roll_back(self, mark: int) -> None:
        """Drops the bounds made since `mark`."""
        for number in self._trail[mark:]:
            self._known.pop(number, None)
        del self._trail[mark:]

    def _edge_constraints(self, source: ir.Block, target: ir.Block) -> list[Linear]:
        last = source.terminator
        if last.blocks.count(target) != 1:
            return []
        if last.op == "condbr":
            return self.constraints_of(last.operands[0], last.blocks[0] is target)
        if last.op == "switch" and last.blocks[0] is not target:
            value = last.operands[0]
            case = ir.Const(value.type, last.cases[last.blocks.index(target) - 1])
            return _equal_constraints(self._forms.of(value), self._forms.of(case))
        return []

    def constraints_of(self, condition: ir.Value, truth: bool) -> list[Linear]:
        """Returns the constraints that follow if `condition` (an i1, or an integer that is 0 or 1) equals `truth`."""
        if self._open == 0:
            self._found = {}
        if self._open == _DEPTH:
            return []
        self._open += 1
        try:
            return self._follow(condition, truth, 0)
        finally:
            self._open -= 1

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Inside the `with` statement nothing is known about conditions that are being read, and afterwards nothing that was
        found inside is kept.
        """
        found, self._found = self._found, {}
        try:
            yield
        finally:
            self._found = found

    def _follow(self, condition: ir.Value, truth: bool, depth: int) -> list[Linear]:
        """Returns what `constraints_of` does, each constraint once."""
        if not isinstance(condition, ir.Instr) or depth > _DEPTH:
            return []
        key = id(condition), truth
        found = self._found.get(key)
        if found is None:
            every = {id(constraint): constraint for constraint in self._combine(condition, truth, depth)}
            found = self._found[key] = list(every.values())[-MAX_HELD:]
        return found

    def _combine(self, condition: ir.Instr, truth: bool, depth: int) -> list[Linear]:
        op, operands = condition.op, condition.operands
        if op == "icmp":
            return self._icmp_constraints(condition, truth, depth)
        if op in ("zext", "sext", "freeze") or (op == "trunc" and self.is_boolean(operands[0])):
            return self._follow(operands[0], truth, depth + 1) if self.is_boolean(operands[0]) else []
        if op == ("and" if truth else "or") and self.is_boolean(condition):
            return [f for part in operands for f in self._follow(part, truth, depth + 1)]
        if op == "xor" and self.is_boolean(condition):
            return self._xor_constraints(operands, truth, depth)
        if op == "select":
            return self._select_constraints(operands, truth, depth)
        return self._phi_constraints(condition, truth, depth) if op == "phi" else []

    def _xor_constraints(self, operands: list[ir.Value], truth: bool, depth: int) -> list[Linear]:
        value, other = operands
        if isinstance(other, ir.Const) and isinstance(other.value, int) and other.value & 1:
            return self._follow(value, not truth, depth + 1)
        return []

    def _select_constraints(self, operands: list[ir.Value], truth: bool, depth: int) -> list[Linear]:
        """Handles `c && x` and `c || x` written as a select: if one operand is the wrong constant, the other was chosen."""
        condition, first, second = operands
        if isinstance(condition.type, ir.Vector):
            return []
        if is_constant(second, not truth):
            return self._follow(condition, True, depth + 1) + self._follow(first, truth, depth + 1)
        if is_constant(first, not truth):
            return self._follow(condition, False, depth + 1) + self._follow(second, truth, depth + 1)
        return []

    def _phi_constraints(self, phi: ir.Instr, truth: bool, depth: int) -> list[Linear]:
        """Handles `c && x` written as a phi: if all incoming values but one are the wrong constant, control came by that
        edge.

        Back edges do not count: what held before one may be computed again after the phi.
        """
        if not self.is_boolean(phi):
            return []
        ways = [(v, b) for v, b in zip(phi.operands, phi.blocks, strict=True) if not is_constant(v, not truth)]
        here = self._forms.block_of[id(phi)]
        dominators = self._forms.dominators
        if len(ways) != 1 or not dominators.reachable(ways[0][1]) or dominators.dominates(here, ways[0][1]):
            return []
        value, source = ways[0]
        return self.bounds_on_edge(source, here).constraints + self._follow(value, truth, depth + 1)

    def _icmp_constraints(self, test: ir.Instr, truth: bool, depth: int) -> list[Linear]:
        left, right = test.operands
        pred = test.pred if truth else INVERSE[test.pred]
        if pred in ("eq", "ne") and self.is_boolean(left) and isinstance(right, ir.Const) and self.is_boolean(right):
            return self._follow(left, (pred == "eq") == is_constant(right, True), depth + 1)
        if not isinstance(left.type, ir.Int) or left.type.bits == 1:
            return []
        a, b = self._forms.of(left), self._forms.of(right)
        if pred in SWAPPED:
            a, b, pred = b, a, SWAPPED[pred]
        if pred[0] == "u" and not self._is_non_negative(test, b):
            return []
        return order_constraints(a, b, pred) if pred not in ("eq", "ne") else self._equality_constraints(test, a, b, pred)

    def is_boolean(self, value: ir.Value, depth: int = 0) -> bool:
        """Returns True if a value is an i1, or an integer computed from them that is always 0 or 1."""
        if value.type == ir.Int(1):
            return True
        if depth > _DEPTH or not isinstance(value.type, ir.Int):
            return False
        if isinstance(value, ir.Const):
            return value.value in (0, 1)
        if not isinstance(value, ir.Instr):
            return False
        known = self._booleans.get(id(value))
        if known is None:
            self._booleans[id(value)] = False  # what depends on itself round a loop
            known = self._booleans[id(value)] = self._is_made_of_booleans(value, depth)
        return known

    def _is_made_of_booleans(self, value: ir.Instr, depth: int) -> bool:
        if value.op == "zext":
            return self.is_boolean(value.operands[0], depth + 1)
        if value.op in ("and", "or", "xor", "phi", "freeze"):
            return all(self.is_boolean(v, depth + 1) for v in value.operands)
        return value.op == "select" and all(self.is_boolean(v, depth + 1) for v in value.operands[1:])

    def _is_non_negative(self, test: ir.Instr, value: Linear) -> bool:
        bounds = self._forms.bounds_at(test)
        low, _ = bounds.box_range(value)
        return low >= 0 or bounds.range_of(value)[0] >= 0

    def _equality_constraints(self, test: ir.Instr, a: Linear, b: Linear, pred: str) -> list[Linear]:
        """Returns the constraints of a == b; those of a != b only if the difference is at an end of its range."""
        if pred == "eq":
            return _equal_constraints(a, b)
        distance = a.plus(b, -1)
        low, high = self._forms.bounds_at(test).range_of(distance)
        if low == 0:
            return [distance.times(-1).plus_const(1)]
        return [distance.plus_const(1)] if high == 0 else []


def _equal_constraints(a: Linear, b: Linear) -> list[Linear]:
    return _drop_trivial([a.plus(b, -1), b.plus(a, -1)])


def order_constraints(a: Linear, b: Linear, pred: str) -> list[Linear]:
    """Returns the constraints of a < b or a <= b. An unsigned comparison needs b >= 0, and then a >= 0 follows."""
    found = [a.plus(b, -1).plus_const(1 if pred.endswith("t") else 0)]
    if pred[0] == "u":
        found.append(a.times(-1))
    return _drop_trivial(found)


def _drop_trivial(facts: list[Linear]) -> list[Linear]:
    """Returns the constraints without the constants that hold. One that does not hold says that nothing gets here."""
    return [f for f in facts if f.terms or f.const > 0]


def is_constant(value: ir.Value, truth: bool) -> bool:
    return isinstance(value, ir.Const) and isinstance(value.value, int) and bool(value.value & 1) == truth
