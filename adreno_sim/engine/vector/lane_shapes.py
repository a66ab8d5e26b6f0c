"""Lane-stride analysis: whether a value is uniform, has known offsets between lanes, or varies.

A value with lane offsets is computed once, for lane 0; each other lane adds its constant. Sums may wrap: the offsets hold
modulo the range of the type. To extend or divide a value they must hold without wrapping, which the interval analysis proves.
Divisions also need the remainder of lane 0's value.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import gcd

from ...base.integers.congruence import ANY, Congruence
from ...base.integers.interval import Interval
from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.cfg import reverse_postorder
from ...ir.induction_variables import signed_constant
from ...ir.provenance import gep_terms, is_pointer
from ..abi.specialization import Specialization
from ..analysis.intervals import Grid, find_intervals
from ..analysis.segments import Graph, ScopeOf, Segment
from ..emit.check import NotVectorizable
from .lane_rules import RULES, extend_rule, product24_rule, trunc_rule
from .lane_shape import VARYING, LaneShape
from .privates import Privates
from .structure import Loop, Structure
from .tile import Tile

_SWEEPS = 40


class LaneShapes:
    """The shape of every value of a kernel. Raises NotVectorizable if the analysis finds no fixed point."""

    def __init__(self, kernel: ir.Function, spec: Specialization, tile: Tile, privates: Privates):
        self.tile = tile
        self._spec = spec
        self._privates = privates
        self._zero = (0,) * tile.lanes
        self.structure = Structure(_order_of(kernel))
        self._intervals = find_intervals(self.structure.order, Grid.of(spec))
        numbered = [i for block in kernel.blocks for i in block.instrs]
        self._narrow = {id(numbered[number]) for number in spec.proofs.narrow}
        self._nsw = {id(instr) for number, instr in enumerate(numbered) if number in spec.proofs.nsw}
        self._factors: dict[int, dict[int, int]] = {}
        for number, at, factor in spec.proofs.factors:
            self._factors.setdefault(id(numbered[number]), {})[at] = factor
        self._loop_of = {id(i): self.structure.innermost[s] for s in self.structure.order for i in s.instrs}
        self._shapes: dict[int, LaneShape] = {}
        self._fixed: dict[ir.Value, LaneShape] = {}
        self._mixed: set[Segment] = set()
        self._work = [(s, i) for s in self.structure.order for i in s.instrs]
        self._users: dict[int, list[int]] = {}
        self._cross_loop_users: set[int] = set()
        for number, (_, instr) in enumerate(self._work):
            for value in instr.operands:
                if isinstance(value, ir.Instr):
                    self._users.setdefault(id(value), []).append(number)
                    if self._loop_of.get(id(value)) is not self._loop_of[id(instr)]:
                        self._cross_loop_users.add(number)
        due: Iterable[int] = range(len(self._work))
        while True:
            self._solve(due)
            divergent = {loop for loop in self.structure.loops if loop.divergent}
            mixed = self.structure.mark_divergence(self.diverges)
            if mixed <= self._mixed and divergent == {loop for loop in self.structure.loops if loop.divergent}:
                break
            self._mixed |= mixed
            phis = (n for n, (segment, instr) in enumerate(self._work) if instr.op == "phi" and segment in self._mixed)
            due = {*phis, *self._cross_loop_users}

    def of(self, value: ir.Value) -> LaneShape:
        """Returns the shape of a value at its definition."""
        if isinstance(value, ir.Instr):
            return self._shapes.get(id(value), VARYING)
        found = self._fixed.get(value)
        if found is None:
            found = self._fixed[value] = self._leaf_shape(value)
        return found

    def _leaf_shape(self, value: ir.Value) -> LaneShape:
        """Returns the shape of a value that no instruction computes."""
        if (number := signed_constant(value)) is not None:
            return self.uniform_shape(Congruence.exactly(number))
        if not isinstance(value, ir.Const) and is_pointer(value):
            return self.uniform_shape(Congruence.exactly(0))
        return self.uniform_shape()

    def diverges(self, branch: ir.Instr) -> bool:
        """Returns whether lanes may diverge at a branch."""
        return not self.shape_at(branch.operands[0], branch).uniform

    def is_left_divergently(self, value: ir.Instr) -> bool:
        """Returns whether lanes may leave a loop that computes a value in different iterations, or by different exits."""
        loop = self.loop_of(value)
        while loop is not None and not loop.divergent:
            loop = loop.parent
        return loop is not None

    def loop_of(self, value: ir.Instr) -> Loop | None:
        """Returns the innermost loop that computes a value."""
        return self._loop_of.get(id(value))

    def shape_at(self, value: ir.Value, user: ir.Instr) -> LaneShape:
        """Returns the shape of an operand at its user. Outside a divergent loop a value varies: lanes leave in different
        iterations."""
        if isinstance(value, ir.Instr):
            loop, there = self._loop_of.get(id(value)), self._loop_of.get(id(user))
            if loop is there:
                return self.of(value)
            inside = []
            while there is not None:
                inside.append(there)
                there = there.parent
            while loop is not None and loop not in inside:
                if loop.divergent:
                    return VARYING
                loop = loop.parent
        return self.of(value)

    def _solve(self, first: Iterable[int]) -> None:
        """Propagates from the instructions numbered `first` to a fixed point. Unknown operands are ignored. Shapes only
        descend in the lattice, so those found with fewer divergent branches are a valid start."""
        due = bytearray(len(self._work))
        for number in first:
            due[number] = 1
        for count in range(_SWEEPS * 2):
            number = due.find(1)
            if number < 0:
                return
            while number >= 0:
                due[number] = 0
                instr = self._work[number][1]
                fresh = self._transfer(number, count)
                if fresh is not None and fresh != self._shapes.get(id(instr)):
                    self._shapes[id(instr)] = fresh
                    for user in self._users.get(id(instr), ()):
                        due[user] = 1
                number = due.find(1, number + 1)
        if due.find(1) >= 0:
            raise NotVectorizable("shapes of values that do not settle")

    def _transfer(self, number: int, sweep: int) -> LaneShape | None:
        segment, instr = self._work[number]
        if instr.op == "phi":
            return self._phi(segment, instr, sweep)
        if instr.op == "alloca":
            return self.uniform_shape(Congruence.exactly(0))
        operands = self._operand_shapes(number, instr)
        if operands is None:
            return None
        if instr.op == "call":
            return self._call(instr, operands)
        if instr.op == "load":
            private = self._privates.is_private(instr.operands[0])
            return LaneShape(self._zero) if operands[0].uniform and not private else VARYING
        if instr.op == "gep":
            return self._gep(instr, operands)
        rule = RULES.get(instr.op)
        if rule is not None and isinstance(instr.type, ir.Int) and None not in [s.lane_offsets for s in operands]:
            return rule(self, instr, *operands)
        if instr.op in ("bitcast", "addrspacecast", "freeze") and is_pointer(instr):
            return operands[0]
        if instr.op == "select":
            return self._select(operands)
        if instr.op in ("atomicrmw", "cmpxchg"):
            return VARYING
        return LaneShape(self._zero) if all(s.uniform for s in operands) else VARYING

    def _operand_shapes(self, number: int, instr: ir.Instr) -> list[LaneShape] | None:
        """Returns the shapes of the operands of `instr`, which has that number; None while one is unknown."""
        found: list[LaneShape] = []
        for value in instr.operands:
            shape = self._shapes.get(id(value)) if isinstance(value, ir.Instr) else self.of(value)
            if shape is None:
                return None
            found.append(self.shape_at(value, instr) if number in self._cross_loop_users else shape)
        for at, factor in self._factors.get(id(instr), {}).items():
            if found[at].uniform:
                found[at] = self.uniform_shape(Congruence.exactly(factor))
        return found

    def _phi(self, segment: Segment, instr: ir.Instr, sweep: int) -> LaneShape | None:
        values = [v for v in instr.operands if v is not instr]
        same = all(v is values[0] for v in values)
        if segment in self._mixed and not same:
            return VARYING
        known = [self._edge_shape(v, segment) for v in values if not isinstance(v, ir.Instr) or id(v) in self._shapes]
        if not known:
            return None
        if any(s.lane_offsets != known[0].lane_offsets for s in known):
            return VARYING
        if sweep > _SWEEPS:
            return LaneShape(known[0].lane_offsets)
        return LaneShape(known[0].lane_offsets, reduce(Congruence.either, (shape.first for shape in known)))

    def _edge_shape(self, value: ir.Value, segment: Segment) -> LaneShape:
        """Returns the shape of a value that an edge brings into `segment`."""
        return self.shape_at(value, segment.block.instrs[0])

    def _select(self, operands: list[LaneShape]) -> LaneShape:
        condition, a, b = operands
        if not condition.uniform or a.lane_offsets is None or a.lane_offsets != b.lane_offsets:
            return VARYING
        return LaneShape(a.lane_offsets, a.first.either(b.first))

    def _call(self, instr: ir.Instr, operands: list[LaneShape]) -> LaneShape:
        assert instr.callee is not None
        name = instr.callee.name
        if name in ("get_local_id", "get_global_id"):
            return self._id(instr, name)
        uniformity = builtin_of(instr).uniformity
        if uniformity == "group":
            return self._query(instr, name)
        if uniformity == "work_item" or any(is_pointer(v) and self._privates.is_private(v) for v in instr.operands):
            return VARYING
        if builtin_of(instr).multiplies_24_bits and isinstance(instr.type, ir.Int):
            return product24_rule(self, instr, *operands)
        converts = builtin_of(instr).plain_conversion
        source = instr.operands[0].type if instr.operands else None
        if converts and isinstance(source, ir.Int) and isinstance(instr.type, ir.Int) and operands[0].lane_offsets is not None:
            if instr.type.bits <= source.bits:
                return trunc_rule(self, instr, operands[0])
            return extend_rule(self, instr, operands[0])
        return LaneShape(self._zero) if all(s.uniform for s in operands) else VARYING

    def _id(self, instr: ir.Instr, name: str) -> LaneShape:
        which = instr.operands[0]
        if not isinstance(which, ir.Const) or not isinstance(which.value, int):
            return VARYING
        if which.value > 2:
            return self.uniform_shape(Congruence.exactly(0))
        axis = which.value
        step = self.tile.size[axis]
        whole = self._spec.local_size[axis]
        if name == "get_global_id":
            known = self._spec.most_groups is not None and not (axis == 0 and self._spec.overlapping)
            step = gcd(step, whole) if known else 1
        elif self.tile.count(self._spec.local_size)[axis] == 1:
            return LaneShape(self.tile.lane_offsets(axis), Congruence.exactly(0))
        return LaneShape(self.tile.lane_offsets(axis), Congruence(step, 0))

    def _query(self, instr: ir.Instr, name: str) -> LaneShape:
        which = instr.operands[0] if instr.operands else None
        known = name == "get_enqueued_local_size" or (name == "get_local_size" and self._spec.uniform)
        if known and isinstance(which, ir.Const) and isinstance(which.value, int) and which.value < 3:
            return self.uniform_shape(Congruence.exactly(self._spec.local_size[which.value]))
        return LaneShape(self._zero)

    def _gep(self, instr: ir.Instr, operands: list[LaneShape]) -> LaneShape:
        if any(s.lane_offsets is None for s in operands):
            return VARYING
        total = operands[0].lane_offsets
        assert total is not None
        for number, stride in gep_terms(instr)[1]:
            index, shape = instr.operands[number], operands[number]
            assert shape.lane_offsets is not None
            bits = index.type.bits if isinstance(index.type, ir.Int) else 64
            if bits < 64 and not shape.uniform and not self.never_wraps(index, shape):
                return VARYING
            total = tuple(a + stride * b for a, b in zip(total, shape.lane_offsets, strict=True))
        return LaneShape(total)

    def never_wraps(self, value: ir.Value, shape: LaneShape) -> bool:
        """Returns whether the lane offsets hold in unbounded signed integers, for every active lane."""
        assert shape.lane_offsets is not None
        assert isinstance(value.type, ir.Int)
        return shape.uniform or self.range_of_lanes(value, shape).fits(value.type.bits)

    def range_of_lanes(self, value: ir.Value, shape: LaneShape) -> Interval:
        """Returns the range of a value in all lanes, if any lane is active, without wrap in those that are not."""
        reach = max(shape.lane_offsets or (0,)) - min(shape.lane_offsets or (0,))
        return self._intervals.of(value).plus(Interval(-reach, reach))

    def stays_narrow(self, user: ir.Instr, shape: LaneShape, room: int) -> bool:
        """Returns whether what `user` extends (room: ROOM), or multiplies by 24 bits (ROOM_24), has these lane offsets without
        leaving those bits, for every active lane: lane 0, if it has no work, may be negative where the others are not."""
        assert shape.lane_offsets is not None
        return id(user) in self._narrow and max(shape.lane_offsets) - min(shape.lane_offsets) < room

    def is_nonnegative(self, value: ir.Value) -> bool:
        return self._intervals.of(value)[0] >= 0

    def interval_of(self, value: ir.Value) -> Interval:
        return self._intervals.of(value)

    def is_nsw(self, instr: ir.Instr) -> bool:
        return self._intervals.is_nsw(instr)

    def is_nsw_at_work(self, instr: ir.Instr) -> bool:
        """Returns whether an operation never wraps as signed in a work-item, though it may in a lane that is none."""
        return id(instr) in self._nsw or self.is_nsw(instr)

    def is_narrow(self, extension: ir.Instr) -> bool:
        """Returns whether an extension is of a value as `Proofs.narrow` says."""
        return id(extension) in self._narrow

    def uniform_shape(self, known: Congruence = ANY) -> LaneShape:
        return LaneShape(self._zero, known)


def _order_of(kernel: ir.Function) -> list[Segment]:
    return reverse_postorder(Graph(kernel, ScopeOf()).entry)
