"""Proves which arguments a launch writes whole: every byte of a buffer, every texel of an image.

Where each write stays inside and none writes a byte that another does (`single_writer`), the launch writes all there is if it
writes as often as there is room: the writes are counted, over the work-items whose ids meet the conditions on the way to them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import gcd, prod

import numpy as np

from ...base.integers.interval import Interval
from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.loops import natural_loops
from ...ir.postdominators import PostDominators
from ..analysis.linear import Linear
from ..analysis.loop_bounds import needs_no_watchdog
from ..analysis.uniformity import Uniformity
from .exact_conditions import ExactConditions
from .executions import Executions, Ways
from .in_range import AccessAnalysis
from .single_writer import ArgumentAccesses, accesses_by_argument

_MOST_POINTS = 1 << 16
"""Of ids that conditions relate to each other in several ways, so many are tried one by one."""
_MOST_BLOCKS = 64
"""In which it is counted how often they are reached."""


def wholly_written_args(analysis: AccessAnalysis, single_writer: frozenset[int], ends: bool) -> frozenset[int]:
    """Returns the positions of those arguments of `single_writer` that the launch never reads and writes completely. ends:
    the launch is proven to end soon.

    Nothing may stop a work-item: there is no barrier that only some of a group pass, and no loop whose end is not known.
    """
    if not single_writer or not analysis.forms.facts.uniform or _may_wait_forever(analysis):
        return frozenset()
    if not needs_no_watchdog(analysis.function, ends):
        return frozenset()
    accesses = accesses_by_argument(analysis)
    if isinstance(accesses, ir.Instr):
        return frozenset()
    count = _Count(analysis)
    params = (param for param in analysis.function.params if param.index in single_writer and param.index in accesses)
    return frozenset(param.index for param in params if _is_written_whole(analysis, count, param, accesses[param.index]))


def _may_wait_forever(analysis: AccessAnalysis) -> bool:
    """Returns whether some work-items of a group may wait for others that do not come, or for something else than a barrier."""
    order = analysis.forms.dominators.order
    waiting = {(block, sync) for block in order for i in block.instrs if (sync := builtin_of(i).sync)}
    if not waiting:
        return False
    uniformity = Uniformity(analysis.forms.dominators)
    return not all(sync == "group" and uniformity.is_convergent(block) for block, sync in waiting)


def _is_written_whole(analysis: AccessAnalysis, count: _Count, param: ir.Param, accesses: ArgumentAccesses) -> bool:
    forms = analysis.forms
    extents = forms.extents(param)
    room = prod(extents) if extents else forms.buffer_bytes(param)  # an image's accesses are counted in texels
    if accesses.reads or accesses.other is not None or not accesses.writes or not room:
        return False
    written = 0
    for write in accesses.writes:
        times = count.executions(forms.block_of[id(write.instr)])
        if times is None:
            return False
        written += times * write.size
    return written == room


class _Count:
    """How many work-items of a launch reach a block."""

    def __init__(self, analysis: AccessAnalysis):
        self._forms = forms = analysis.forms
        self._function = analysis.function
        ids = [number for axis in range(3) for number in (forms.local_id(axis), forms.group_id(axis))]
        symbols = [symbol for number in ids for symbol in number.terms]
        self._extents = {symbol: forms.symbols[symbol].high + 1 for symbol in symbols}
        self._known: dict[int, int | None] = {}

    @cached_property
    def _conditions(self) -> ExactConditions:
        return ExactConditions(self._forms, PostDominators(self._function.blocks))

    @cached_property
    def _ways(self) -> Ways:
        return Ways(self._function, self._forms.dominators)

    @cached_property
    def _in_loops(self) -> set[int] | None:
        loops = natural_loops(self._forms.dominators)
        return None if loops is None else {id(block) for body in loops.values() for block in body}

    def executions(self, block: ir.Block) -> int | None:
        """Returns how often work-items reach a block, or less if there are very many iterations; None if that is not known."""
        if id(block) not in self._known and len(self._known) < _MOST_BLOCKS:
            inside = self._in_loops
            if inside is not None and id(block) in inside:
                self._known[id(block)] = self._count_iterations(block)
            else:
                known = None if inside is None else self._conditions.of_block(block)
                self._known[id(block)] = None if known is None else self._count(known)
        return self._known.get(id(block))

    def _count_iterations(self, block: ir.Block) -> int | None:
        """Returns how often work-items reach a block in a loop, where that is the same for all groups."""
        ends = [b for b in self._forms.dominators.order if not b.successors]
        way = self._ways.find(block, ends[0]) if len(ends) == 1 else None
        if way is None:
            return None
        return len(Executions(self._forms, way).offsets(Linear.number(0))) * prod(self._forms.facts.groups)

    def _count(self, conditions: Iterable[Linear]) -> int | None:
        """Returns how many ids meet all conditions. Each condition says that a sum is at most 0."""
        open_conditions = []
        for condition in conditions:
            if not condition.terms.keys() <= self._extents.keys():
                return None
            low, high = self._range_of(condition)
            if low > 0:
                return 0
            if high > 0:
                open_conditions.append(condition)
        total = 1
        for symbols, related in _components(open_conditions):
            found = self._count_related(symbols, related)
            if found is None:
                return None
            total *= found
        free = self._extents.keys() - {symbol for condition in open_conditions for symbol in condition.terms}
        return total * prod(self._extents[symbol] for symbol in free)

    def _range_of(self, value: Linear) -> Interval:
        ends = [(0, c * (self._extents[symbol] - 1)) for symbol, c in value.terms.items()]
        return Interval(value.const + sum(map(min, ends)), value.const + sum(map(max, ends)))

    def _count_related(self, symbols: list[int], conditions: list[Linear]) -> int | None:
        """Returns how many values of `symbols` meet conditions on them."""
        found = self._count_digits(conditions)
        return found if found is not None else self._try_all(symbols, conditions)

    def _count_digits(self, conditions: list[Linear]) -> int | None:
        """Returns that count where the symbols are the digits of one number, which all conditions bound; else None."""
        first = conditions[0]
        scale = gcd(*first.terms.values())
        if any(c < 0 for c in first.terms.values()):
            scale = -scale
        digits = {symbol: c // scale for symbol, c in first.terms.items()}
        unit = 1
        for symbol, weight in sorted(digits.items(), key=lambda item: item[1]):
            if weight != unit:
                return None
            unit *= self._extents[symbol]
        least, most = 0, unit - 1
        for condition in conditions:
            factor = condition.terms.get(next(iter(digits)), 0) // digits[next(iter(digits))]
            if condition.terms != {symbol: weight * factor for symbol, weight in digits.items()}:
                return None
            if factor > 0:
                most = min(most, -condition.const // factor)
            else:
                least = max(least, -(-condition.const // -factor))
        return max(0, most - least + 1)

    def _try_all(self, symbols: list[int], conditions: list[Linear]) -> int | None:
        shape = [self._extents[symbol] for symbol in symbols]
        if prod(shape) > _MOST_POINTS:
            return None
        values = dict(zip(symbols, np.indices(shape, np.int64), strict=True))
        met = np.ones(shape, bool)
        for condition in conditions:
            met &= sum(c * values[symbol] for symbol, c in condition.terms.items()) + condition.const <= 0
        return int(np.count_nonzero(met))


def _components(conditions: list[Linear]) -> list[tuple[list[int], list[Linear]]]:
    """Returns the conditions that share symbols together, each with all their symbols."""
    found: list[tuple[list[int], list[Linear]]] = []
    for condition in conditions:
        symbols, related = dict.fromkeys(condition.terms), [condition]
        apart = []
        for others, theirs in found:
            if symbols.keys().isdisjoint(others):
                apart.append((others, theirs))
            else:
                symbols.update(dict.fromkeys(others))
                related += theirs
        found = [*apart, (list(symbols), related)]
    return found
