"""The executions of a store, one by one: what an affine form is for each work-item and each iteration of the loops around it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import prod

import numpy as np

from ...ir import ir
from ...ir.dominators import Dominators
from ...ir.loops import natural_loops
from ...records import dataclass
from ..analysis.affine import AffineForms
from ..analysis.budget import Budget, OverBudget
from ..analysis.linear import Linear
from ..analysis.path_conditions import is_constant
from .disjoint import AccessRange

_MOST_POINTS = 1 << 16
"""The most executions of a store: further iterations count for nothing."""
_LARGEST = 1 << 40
"""No coefficient is larger, so sums fit 64 bits."""
_DEPTH = 24
_STEPS = 4000, 64
"""The blocks, for a kernel and for each of its instructions, that may be passed in search of ways."""
_COMPARE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_COMBINE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """A branch on the way to a store: the condition, and its value there. loop: the header that the branch ends, if it decides
    whether an iteration is made."""

    condition: ir.Value
    truth: bool
    loop: ir.Block | None


def offsets_of_read(forms: AffineForms, read: AccessRange) -> np.ndarray | None:
    """Returns the offsets that a read may have, and perhaps others; None if there are too many."""
    bounds = forms.bounds_at(read.instr)
    symbols = [s for s in sorted(forms.symbols.sources(read.offset)) if forms.symbols[s].floor is None]
    ranges = [bounds.range_of(Linear({symbol: 1}, 0)) for symbol in symbols]
    if prod(high - low + 1 for low, high in ranges) > _MOST_POINTS:
        return None
    axes = np.meshgrid(*[np.arange(low, high + 1) for low, high in ranges], indexing="ij", sparse=True)
    found = _Values(forms, dict(zip(symbols, axes, strict=True))).of(read.offset)
    return None if found is None else found.reshape(-1)


class _Values:
    """Values of affine forms for given values of symbols; None of a form with another symbol. Each symbol and each condition is
    computed once: sums of floors, and conditions made of conditions, may share theirs many times over."""

    def __init__(self, forms: AffineForms, known: dict[int, np.ndarray], loops: dict[int, np.ndarray] | None = None):
        """loops: the numbers of iterations, by id of the loop's header."""
        self._forms, self._loops = forms, loops or {}
        self._symbols: dict[int, np.ndarray | None] = {**known}
        self._conditions: dict[int, np.ndarray | None] = {}

    def of(self, number: Linear, depth: int = 0) -> np.ndarray | None:
        total = np.array(number.const)
        for symbol, factor in number.terms.items():
            if symbol not in self._symbols:
                self._symbols[symbol] = self._of_symbol(symbol, depth)
            value = self._symbols[symbol]
            if value is None or max(abs(factor), abs(number.const)) > _LARGEST:
                return None
            total = total + factor * value
        return total

    def _of_symbol(self, symbol: int, depth: int) -> np.ndarray | None:
        loop, floor = self._forms.iterations.get(symbol), self._forms.symbols[symbol].floor
        if loop is not None:
            return self._loops.get(id(loop))
        number = self.of(floor[0], depth + 1) if floor is not None and depth < _DEPTH else None
        return None if floor is None or number is None else number // floor[1]

    def of_condition(self, value: ir.Value, depth: int = 0) -> np.ndarray | None:
        """Returns where a condition holds."""
        if isinstance(value, ir.Const):
            return np.array(is_constant(value, True)) if isinstance(value.value, int) else None
        if not isinstance(value, ir.Instr) or depth > _DEPTH:
            return None
        if id(value) not in self._conditions:
            self._conditions[id(value)] = self._combine(value, depth)
        return self._conditions[id(value)]

    def _combine(self, value: ir.Instr, depth: int) -> np.ndarray | None:
        if value.op == "icmp":
            return self._of_comparison(value, depth)
        if not self._forms.conditions.is_boolean(value) or value.op not in ("zext", "freeze", "trunc", *_COMBINE):
            return None
        operands = [self.of_condition(operand, depth + 1) for operand in value.operands]
        known = [operand for operand in operands if operand is not None]
        if len(known) < len(operands):
            return None
        return known[0] if len(known) == 1 else _COMBINE[value.op](*known)

    def _of_comparison(self, test: ir.Instr, depth: int) -> np.ndarray | None:
        left, right = test.operands
        if test.pred in ("eq", "ne") and isinstance(right, ir.Const) and self._forms.conditions.is_boolean(left):
            truth = self.of_condition(left, depth + 1) if right.value in (0, 1) else None
            return None if truth is None else truth == ((test.pred == "eq") == is_constant(right, True))
        if not isinstance(left.type, ir.Int) or left.type.bits == 1:
            return None
        a, b = self.of(self._forms.of(left)), self.of(self._forms.of(right))
        if a is None or b is None or (test.pred[0] == "u" and min(a.min(), b.min()) < 0):
            return None
        return _COMPARE[test.pred if test.pred in _COMPARE else test.pred[1:]](a, b)


class Ways:
    """The ways to stores from blocks that all work-items pass before they reach a goal: a barrier, or the end of the kernel."""

    def __init__(self, function: ir.Function, dominators: Dominators):
        self._dominators = dominators
        self._loops = natural_loops(dominators)
        self._around: dict[ir.Block, set[ir.Block]] = {}
        for head, body in (self._loops or {}).items():
            for block in body:
                self._around.setdefault(block, set()).add(head)
        self._budget = Budget.of("ways to stores", function, *_STEPS)
        self._found: dict[tuple[int, int], list[Step] | None] = {}

    def find(self, block: ir.Block, goal: ir.Block) -> list[Step] | None:
        """Returns the branches that decide whether a work-item executes `block` before it gets to `goal`. It does so in
        each iteration of the loops among them in which all conditions hold. Returns None if there is no such list, or if it
        takes too long to find one."""
        key = id(block), id(goal)
        if key not in self._found:
            try:
                self._found[key] = self._find(block, goal)
            except OverBudget:
                self._found[key] = None
        return self._found[key]

    def _find(self, block: ir.Block, goal: ir.Block) -> list[Step] | None:
        dominators, steps = self._dominators, list[Step]()
        if self._loops is None or (block is not goal and dominators.dominates(goal, block)):
            return None
        while not dominators.dominates(block, goal) or not self._loops_of(block) <= self._loops_of(goal):
            above = dominators.parent(block)
            if above is None:
                return None
            looped = above in self._loops and block in self._loops[above] and goal not in self._loops[above]
            if looped or not self._is_unavoidable(block, above, goal):
                step = self._step(above, block, looped)
                if step is None:
                    return None
                steps.append(step)
            block = above
        return steps

    def _loops_of(self, block: ir.Block) -> set[ir.Block]:
        return self._around.get(block, set())

    def _step(self, above: ir.Block, block: ir.Block, looped: bool) -> Step | None:
        """Returns the branch at the end of `above` that alone leads to `block`."""
        assert self._loops is not None
        last = above.terminator
        if self._dominators.predecessors[id(block)] != [above] or last.op != "condbr" or last.blocks.count(block) != 1:
            return None
        if looped:
            body = self._loops[above]
            self._budget.spend(len(body))
            if any(target not in body for inside in body - {above} for target in inside.successors):
                return None  # another way out: an iteration may be the last although the condition holds
        return Step(last.operands[0], last.blocks[0] is block, above if looped else None)

    def _is_unavoidable(self, block: ir.Block, above: ir.Block, goal: ir.Block) -> bool:
        """Returns whether control passes `block` after `above` before it gets to `goal` or begins an iteration."""
        seen, pending = {id(block)}, list(above.successors)
        while pending:
            here = pending.pop()
            if id(here) in seen:
                continue
            self._budget.spend()
            if here is goal or self._dominators.dominates(here, above):
                return False
            seen.add(id(here))
            pending += here.successors
        return True


class Executions:
    """The executions of a store that its `way` decides: work-items along the first three axes, the iterations of loops on the way
    along the others."""

    def __init__(self, forms: AffineForms, way: list[Step]):
        sizes, loops = list(forms.facts.local_size), [step.loop for step in way if step.loop is not None]
        lengths = [_most_iterations(forms, loop) for loop in loops]
        if prod([*sizes, *lengths]) > _MOST_POINTS:
            most = int((_MOST_POINTS / prod(sizes)) ** (1 / len(loops))) if loops else 0
            lengths = [max(1, min(length, most)) for length in lengths]
        self._way, self._shape = way, (*sizes, *lengths)
        self._axis_of = {id(loop): 3 + number for number, loop in enumerate(loops)}
        items = {symbol: self._numbers(axis) for axis in range(3) for symbol in forms.local_id(axis).terms}
        self._values = _Values(forms, items, {loop: self._numbers(axis) for loop, axis in self._axis_of.items()})

    @property
    def points(self) -> int:
        """How many executions are tried."""
        return prod(self._shape)

    def offsets(self, offset: Linear) -> np.ndarray:
        """Returns the values of `offset` in these executions; none if it is not known which there are."""
        first, made = self._values.of(offset), self._made
        return np.zeros(0, np.int64) if first is None or made is None else np.broadcast_to(first, self._shape)[made]

    @cached_property
    def _made(self) -> np.ndarray | None:
        """Which executions are made; None if that is not known."""
        made = np.ones(self._shape, bool)
        for step in self._way:
            condition = self._values.of_condition(step.condition)
            if condition is None:
                return None
            met = np.broadcast_to(condition == step.truth, self._shape)
            if step.loop is not None:  # no iteration follows one that is not made
                met = np.logical_and.accumulate(met, axis=self._axis_of[id(step.loop)])
            made &= met
        return made

    def _numbers(self, axis: int) -> np.ndarray:
        """Returns the numbers along an axis."""
        count = self._shape[axis]
        return np.arange(count).reshape([count if n == axis else 1 for n in range(len(self._shape))])


def _most_iterations(forms: AffineForms, loop: ir.Block) -> int:
    """Returns a number of iterations that a loop does not exceed, as far as that is known."""
    highest = (forms.symbols[symbol].high for symbol, head in forms.iterations.items() if head is loop)
    return min((high + 1 for high in highest), default=_MOST_POINTS)
