"""Which work-items of a group are the lanes of a vector: the tile that costs least.

The usual tile is as wide along x as the group allows. Another pays for some kernels. Halves are half as wide as what vectors are
sized for: twice the lanes fit into a register. Where a tile spans several rows of the group, and the step between rows of memory
is an argument, a narrower one, of one row, accesses memory in rows. Where neighbours along y share what neighbours along x take
from far apart, an upright one does. Where a work-item's own vectors are wide, none does: they are the lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...base.host.processor import Processor
from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.memory_ops import is_plain_store, moved_type, touches_memory
from ..abi.specialization import Specialization
from ..analysis.loop_bounds import trip_count
from ..emit.check import NotVectorizable
from ..emit.half_arithmetic import is_half
from ..llvm import objects
from .calls import needs_active_lane
from .lane_access.patterns import Pattern, pattern_of
from .lane_access.strided_loads import StridedLoads
from .lane_access.strided_row_loads import find_strided_load
from .lane_access.words import word_of
from .lane_shapes import LaneShapes
from .privates import Privates
from .structure import Loop
from .tile import Tile, choose_tile, dividing_tile

_ITEMS = 32
"""Costs are those of so many work-items, in instructions of a processor on one work-item."""
_USUAL = 16
"""Lanes up to which an instruction on 32 bits is one."""
_VECTOR = 2
"""Of an instruction on a vector: as many run at once as half of the others."""
_UNKNOWN_ROUNDS = 8
"""Iterations of a loop whose number is not known."""
_OPERATIONS = ("fadd", "fsub", "fmul", "fdiv", "fcmp")
_HALF = 4
"""Instructions of an operation on halves: conversions, itself, and the flush of its result."""
_CALL = 64
"""Instructions of a function that no instruction computes."""
_SLOW = {"fdiv": 8, "frem": 64, "udiv": 16, "sdiv": 16, "urem": 16, "srem": 16}
"""Instructions as slow as so many others."""
_APART = 96
"""Of an access whose lanes are apart, for each word of 32 bits."""
_WALKED = 24
"""Of one by which each lane walks along a row of its own: many are loaded at once."""
_SMALL_LOAD = 144
"""Of such a load of less than a word: it is cut out of the word around it."""
_SMALL_STORE = 384
"""Of such a store: a loop over lanes."""
_SHUFFLE = 2
"""Instructions on vectors that take one element of all lanes from a row of the lanes' own vectors, or put it there."""
_LATENCY = 12
"""Of a sum of floats from one iteration to the next: what one work-item waits for."""
_FREE = ("insertelement", "extractelement", "shufflevector", "bitcast", "gep", "phi", "br")
"""Operations that name what is there already, or become part of an address."""
_MAX_COST_RATIO = 0.8
"""An estimate is rough: a tile of another form must cost at most so much of the usual one."""
_OF_HALVES = 1.1
"""And one with twice the lanes, which also reads and writes memory in fewer instructions."""
_SINGLY = 0.6
"""And so much what runs one work-item after the other."""


def choose_shapes(
    kernel: ir.Function, spec: Specialization, privates: Privates, check: Callable[[LaneShapes], None]
) -> LaneShapes:
    """Returns the shapes of the tile that suits a launch of `kernel` best. Raises NotVectorizable if most lanes would be idle, or
    cost more than they save.

    check: raises NotVectorizable for shapes that do not fit.
    """
    processor = objects.machine().processor
    columns = spec.local_size[0]
    tile = Tile((columns, spec.merged // columns, 1)) if spec.merged > 1 else choose_tile(spec, processor.lane_counts)
    best = LaneShapes(kernel, spec, tile, privates)
    check(best)
    if spec.merged > 1:
        return best
    cost = _Cost(kernel, best, privates)
    for tile, enough in _other_tiles(spec.local_size, cost, processor):
        try:
            found = LaneShapes(kernel, spec, tile, privates)
            check(found)
        except NotVectorizable:
            continue
        other = _Cost(kernel, found, privates)
        if other.total < cost.total * enough:
            best, cost = found, other
    if spec.checks != "full" and cost.apart < cost.total / 2 and cost.singly < cost.total * _SINGLY:
        # At level full each access costs more than what it is for. Accesses apart may be those of few work-items.
        raise NotVectorizable("lanes cost more than they save: the vectors of one work-item are wide")
    return best


def estimate_cost(shapes: LaneShapes, kernel: ir.Function, privates: Privates, share: Callable[[ir.Instr], float]) -> float:
    """Returns what vector code in these shapes costs, in instructions on a few work-items. share: the share of work-items that
    run an instruction at all."""
    return _Cost(kernel, shapes, privates, share).total


def _other_tiles(local: tuple[int, int, int], usual: _Cost, processor: Processor) -> Iterator[tuple[Tile, float]]:
    """Yields tiles that fill the group and may cost less than the usual one, and at which share of its cost one is chosen."""
    tile = usual.shapes.tile
    wider = dividing_tile(local, processor.lanes_of_halves)
    if usual.of_halves and wider.lanes > tile.lanes and wider.divides(local):
        yield wider, _OF_HALVES
    if usual.apart < usual.total / 2:
        return
    row = tile.size[0]
    if row < tile.lanes and row in processor.lane_counts and local[0] % row == 0:
        yield Tile((row, 1, 1)), _MAX_COST_RATIO
    upright = Tile((1, tile.lanes, 1))
    if upright != tile and upright.divides(local):
        yield upright, _MAX_COST_RATIO


class _Cost:
    """What a kernel costs in the lanes of some shapes, every branch taken.

    apart: what accesses apart take of `total`. singly: what it costs one work-item after the other, whose own vectors fit into
    registers. of_halves: whether it computes halves. share: as of `estimate_cost`.
    """

    def __init__(
        self,
        kernel: ir.Function,
        shapes: LaneShapes,
        privates: Privates,
        share: Callable[[ir.Instr], float] = lambda instr: 1,
    ):
        self.shapes, self._privates = shapes, privates
        self._share = share
        self._vectors = _VECTOR * _ITEMS / shapes.tile.lanes
        self.total = self.apart = self.singly = 0.0
        self.of_halves = False
        self._walks = StridedLoads(shapes.structure, shapes, privates)
        self._rounds_of: dict[Loop | None, int] = {None: 1}
        for block in kernel.blocks:
            for instr in block.instrs:
                self._add(instr)

    def _add(self, instr: ir.Instr) -> None:
        rounds = self._rounds(self.shapes.loop_of(instr)) * self._share(instr)
        accesses = touches_memory(instr)
        function = instr.op == "call" and not accesses and needs_active_lane(instr)
        each = _CALL if function else _SLOW.get(instr.op, 1)
        count = llvm_types.lanes_of(moved_type(instr))
        if accesses:
            pattern = pattern_of(self.shapes, self._privates, instr)
            if pattern == Pattern.APART:
                walked = instr.op == "load" and find_strided_load(self._walks, self.shapes, self._privates, instr)
                cost = rounds * (_WALKED * count if walked else _cost_apart(instr))
                self.apart += cost
                self.total += cost
            elif pattern == Pattern.ROW and count > 1 and not _moves_as_word(instr):
                self.total += rounds * count * _SHUFFLE * self._vectors
        elif halves := self._half_operations(instr):
            self.of_halves = True
            self.total += rounds * halves * _HALF * self._vectors
            self.singly += rounds * halves * _HALF * _ITEMS
        elif instr.op == "phi" and isinstance(llvm_types.elem_of(instr.type), ir.Float):
            self.singly += rounds * _LATENCY * _ITEMS
        if instr.op not in _FREE and not self.shapes.of(instr).uniform:
            self.total += rounds * each * count * max(self._vectors, _VECTOR * _ITEMS / _USUAL)
            self.singly += rounds * each * _ITEMS * (count if function else 1)

    def _half_operations(self, instr: ir.Instr) -> int:
        """Returns the operations on halves that differ between lanes, as parts of `instr`."""
        operands = [v for v in instr.operands if is_half(v.type)]
        function = builtin_of(instr).elementwise and is_half(instr.type)
        if not operands or not (function or instr.op in _OPERATIONS) or all(self.shapes.of(v).uniform for v in operands):
            return 0
        return llvm_types.lanes_of(operands[0].type) * (2 if len(operands) == 3 else 1)  # a product and a sum

    def _rounds(self, loop: Loop | None) -> int:
        """Returns how often what a loop computes runs, if no branch leaves it out."""
        if loop not in self._rounds_of:
            assert loop is not None
            found = trip_count(loop.head, loop.body)
            self._rounds_of[loop] = self._rounds(loop.parent) * (_UNKNOWN_ROUNDS if found is None else found)
        return self._rounds_of[loop]


def _moves_as_word(instr: ir.Instr) -> bool:
    """Returns whether the elements of an access to a buffer move as one word. Texels move singly."""
    type = moved_type(instr)
    return not builtin_of(instr).image and word_of(llvm_types.elem_of(type), llvm_types.lanes_of(type)) is not None


def _cost_apart(instr: ir.Instr) -> int:
    """Returns the cost of an access whose lanes are apart."""
    type = moved_type(instr)
    elem, count = llvm_types.elem_of(type), llvm_types.lanes_of(type)
    if not isinstance(elem, (ir.Int, ir.Float)) or word_of(elem, count) is not None:
        return _APART
    small = _SMALL_STORE if is_plain_store(instr) else _SMALL_LOAD
    return count * (small if elem.bits < 32 else _APART)
