"""Interval analysis: which integer operations of a region cannot wrap, from constants, bounded ids and counted loops.

Only operations proven here may carry `nsw`. With it LLVM sees that an index widened to 64 bits still grows by one per
iteration, and can vectorise the loop. Nothing is assumed of arguments or of memory.
"""

from __future__ import annotations

from ...base.integers.interval import Interval, signed_range
from ...ir import ir
from ...ir.induction_variables import signed
from ...ir.loops import back_edges
from ...records import dataclass
from ..abi.specialization import Specialization
from .failures import attempt, note
from .interval_rules import bits_of, find_interval
from .loop_bounds import Counter, find_counter, find_loop_bodies
from .segments import Segment

_SWEEPS = 4
_MOST_SWEEPS = 64
"""The most rounds over all instructions after phis were widened. Values that depend on each other round loops take a few."""


@dataclass(frozen=True)
class Grid:
    """Bounds of the ids of a launch: the local size, and the number of groups along each axis (None: not bounded)."""

    local: tuple[int, int, int]
    groups: tuple[int, int, int] | None

    @staticmethod
    def of(spec: Specialization) -> Grid:
        return Grid(spec.local_size, spec.most_groups)

    def range_of_call(self, instr: ir.Instr) -> Interval | None:
        """Returns the range of a work-item function, or None if it is not bounded."""
        assert instr.callee is not None
        name = instr.callee.name
        if name not in _QUERIES:
            return None
        if not instr.operands or not isinstance(instr.operands[0], ir.Const) or not isinstance(instr.operands[0].value, int):
            return None
        axis = instr.operands[0].value
        if axis > 2:
            return Interval(0, 1)
        size, groups = self.local[axis], self.groups[axis] if self.groups else None
        if name in ("get_local_id", "get_local_size", "get_enqueued_local_size"):
            return Interval(0, size - 1) if name == "get_local_id" else Interval(1, size)
        if groups is None:
            return None
        return Interval(*{
            "get_group_id": (0, groups - 1), "get_num_groups": (1, groups),
            "get_global_id": (0, groups * size - 1), "get_global_size": (1, groups * size),
        }[name])  # fmt: skip


_QUERIES = {
    "get_local_id", "get_local_size", "get_enqueued_local_size", "get_group_id", "get_num_groups", "get_global_id",
    "get_global_size",
}  # fmt: skip


def find_intervals(order: list[Segment], grid: Grid) -> Intervals:
    """Returns the intervals of a region; every value may be any number if the analysis fails."""
    return attempt("ranges of integers", lambda: Intervals(order, grid), Intervals([], grid))


class Intervals:
    """The signed interval of every integer value of one region, and the operations that do not wrap."""

    def __init__(self, order: list[Segment], grid: Grid):
        self._grid = grid
        self._known: dict[int, Interval] = {}
        self._nsw: set[int] = set()
        self._counters: dict[int, Counter] = {}
        self._steps: dict[int, Counter] = {}
        self._find_counters(order)
        instrs = [i for s in order for i in s.instrs if isinstance(i.type, ir.Int) and i.type.bits > 1]
        self._own = {id(i) for i in instrs}
        self._widened: set[int] = set()
        for _ in range(_SWEEPS):
            if not self._sweep(instrs):
                break
        else:
            self._widen(instrs)

    def is_nsw(self, instr: ir.Instr) -> bool:
        """Returns True if an add, sub, mul or shl never wraps as signed, in any execution."""
        return id(instr) in self._nsw

    def of(self, value: ir.Value) -> Interval:
        """Returns the interval of an integer value."""
        assert isinstance(value.type, ir.Int)
        bits = value.type.bits
        if isinstance(value, ir.Const):
            return Interval.exactly(signed(value.value, bits) if isinstance(value.value, int) else 0)
        return self._known.get(id(value), signed_range(bits)) if isinstance(value, ir.Instr) else signed_range(bits)

    def _find_counters(self, order: list[Segment]) -> None:
        """Finds the counters with a bounded exit test: of the phi, and of the operation that steps it outside the header with the
        test."""
        for head, body in find_loop_bodies(order, back_edges(order)).items():
            counter = find_counter(head, body)
            if counter is not None:
                self._counters[id(counter.phi)] = counter
                if not any(counter.next is i for i in head.instrs):
                    self._steps[id(counter.next)] = counter

    def _sweep(self, instrs: list[ir.Instr]) -> bool:
        """Recomputes all instructions once. Returns True if an interval changed."""
        changed = False
        for instr in instrs:
            before = self._known.get(id(instr))
            now = self._transfer(instr)
            if now != before:
                self._known[id(instr)] = now
                changed = True
        return changed

    def _widen(self, instrs: list[ir.Instr]) -> None:
        """Widens what has not converged: phis that are not counters become full, and the rest is recomputed until it is
        stable."""
        unstable = {id(i) for i in instrs if i.op == "phi" and id(i) not in self._counters}
        for instr in instrs:
            self._known[id(instr)] = signed_range(bits_of(instr.type))
        self._widened = unstable
        for _ in range(_MOST_SWEEPS):
            if not self._sweep(instrs):
                return
        self._known, self._nsw = {}, set()
        note([f"ranges of integers: given up after {_MOST_SWEEPS} rounds"])

    def _transfer(self, instr: ir.Instr) -> Interval:
        found = self._find(instr)
        if instr.op in ("add", "sub", "mul", "shl"):
            (self._nsw.discard if found is None else self._nsw.add)(id(instr))
        return found or signed_range(bits_of(instr.type))

    def _find(self, instr: ir.Instr) -> Interval | None:
        """Returns the interval of a result, None if it may be any number."""
        if instr.op == "phi":
            return self._phi_range(instr)
        if id(instr) in self._steps and (after := self._range_after_step(self._steps[id(instr)])):
            return after
        if instr.op == "select":
            return Interval.hull(map(self.of, instr.operands[1:]))
        found = self._grid.range_of_call(instr) if instr.op == "call" else None
        return found or find_interval(instr, self.of)

    def _phi_range(self, instr: ir.Instr) -> Interval | None:
        counter = self._counters.get(id(instr))
        if counter is not None:
            after = self._range_after_step(counter)
            return after and Interval.hull([after, self.of(counter.start)])
        if id(instr) in self._widened:
            return None
        ready = [v for v in instr.operands if id(v) in self._known or id(v) not in self._own]
        return Interval.hull(map(self.of, ready)) if ready else None

    def _range_after_step(self, counter: Counter) -> Interval | None:
        """Returns the range of a counter after its step, which is at most one step past the bound; None if the step may wrap."""
        start, end, step, stays = self.of(counter.start), self.of(counter.bound), counter.step, counter.stays
        if stays[0] == "u" and (end[0] < 0 or start[0] < 0):
            return None
        slack = step if stays.endswith("e") else step - (1 if step > 0 else -1)
        low, high = (start[0] + step, end[1] + slack) if step > 0 else (end[0] + slack, start[1] + step)
        if stays[0] == "u" and low < 0:
            return None  # an unsigned counter going down may pass below zero
        after = Interval(min(low, high), max(low, high))
        return after if after.fits(bits_of(counter.phi.type)) else None
