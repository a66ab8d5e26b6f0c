"""Which work-items of a group are the lanes of a vector: the tile that costs least.

The usual tile is as wide along x as the group allows. Another pays for some kernels. Halves are half as wide as what vectors are
sized for: twice the lanes fit into a register. Where a tile spans several rows of the group, and the step between rows of memory
is an argument, a narrower one, of one row, accesses memory in rows. Where neighbours along y share what neighbours along x take
from far apart, an upright one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...base.host.processor import Processor
from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.memory_ops import touches_memory
from ..abi.specialization import Specialization
from ..analysis.loop_bounds import trip_count
from ..emit.check import NotVectorizable
from ..emit.half_arithmetic import is_half
from ..llvm import objects
from .calls import needs_active_lane
from .lane_shapes import LaneShapes
from .patterns import Pattern, pattern_of
from .privates import Privates
from .structure import Loop
from .tile import Tile, choose_tile, dividing_tile
from .words import word_of

_ITEMS = 32
"""Costs are those of so many work-items, in instructions."""
_USUAL = 16
"""Lanes up to which an instruction on 32 bits is one."""
_UNKNOWN_ROUNDS = 8
"""Iterations of a loop whose number is not known."""
_OPERATIONS = ("fadd", "fsub", "fmul", "fdiv", "fcmp")
_HALF = 4
"""Instructions of an operation on halves: conversions, itself, and the flush of its result."""
_CALL = 16
"""Instructions of a function that no instruction computes."""
_APART = 48
"""Instructions of an access whose lanes are apart, for each word of 32 bits."""
_SMALL_STORE = 192
"""Instructions of such a store of less than a word: a loop over lanes."""
_FREE = ("insertelement", "extractelement", "shufflevector", "bitcast", "gep", "phi", "br")
"""Operations that name what is there already, or become part of an address."""
_CLEARLY = 0.8
"""An estimate is rough: a tile of another form must cost at most so much of the usual one."""


def choose_shapes(
    kernel: ir.Function, spec: Specialization, privates: Privates, check: Callable[[LaneShapes], None]
) -> LaneShapes:
    """Returns the shapes of the tile that suits a launch of `kernel` best. Raises NotVectorizable if most lanes would be idle.

    check: raises NotVectorizable for shapes that do not fit.
    """
    processor = objects.machine().processor
    best = LaneShapes(kernel, spec, choose_tile(spec, processor.lane_counts), privates)
    check(best)
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
    return best


def _other_tiles(local: tuple[int, int, int], usual: _Cost, processor: Processor) -> Iterator[tuple[Tile, float]]:
    """Yields tiles that fill the group and may cost less than the usual one, and at which share of its cost one is chosen."""
    tile = usual.shapes.tile
    wider = dividing_tile(local, processor.lanes_of_halves)
    if usual.of_halves and wider.lanes > tile.lanes and wider.divides(local):
        yield wider, 1
    if usual.apart < usual.total / 2:
        return
    row = tile.size[0]
    if row < tile.lanes and row in processor.lane_counts and local[0] % row == 0:
        yield Tile((row, 1, 1)), _CLEARLY
    upright = Tile((1, tile.lanes, 1))
    if upright != tile and upright.divides(local):
        yield upright, _CLEARLY


class _Cost:
    """What a kernel costs in the lanes of some shapes, every branch taken. apart: what accesses apart take of `total`.

    of_halves: whether it computes halves.
    """

    def __init__(self, kernel: ir.Function, shapes: LaneShapes, privates: Privates):
        self.shapes, self._privates = shapes, privates
        self._vectors = _ITEMS / shapes.tile.lanes
        self.total = self.apart = 0.0
        self.of_halves = False
        for block in kernel.blocks:
            for instr in block.instrs:
                self._add(instr)

    def _add(self, instr: ir.Instr) -> None:
        rounds = self._rounds(instr)
        if touches_memory(instr):
            if pattern_of(self.shapes, self._privates, instr) == Pattern.APART:
                cost = rounds * _cost_apart(instr)
                self.apart += cost
                self.total += cost
        elif halves := self._half_operations(instr):
            self.of_halves = True
            self.total += rounds * halves * _HALF * self._vectors
        if instr.op not in _FREE and not self.shapes.of(instr).uniform:
            function = instr.op == "call" and not touches_memory(instr) and needs_active_lane(instr)
            each = llvm_types.lanes_of(instr.type) * (_CALL if function else 1)
            self.total += rounds * each * max(self._vectors, _ITEMS / _USUAL)

    def _half_operations(self, instr: ir.Instr) -> int:
        """Returns the operations on halves that differ between lanes of which `instr` consists."""
        operands = [v for v in instr.operands if is_half(v.type)]
        function = builtin_of(instr).elementwise and is_half(instr.type)
        if not operands or not (function or instr.op in _OPERATIONS) or all(self.shapes.of(v).uniform for v in operands):
            return 0
        return llvm_types.lanes_of(operands[0].type) * (2 if len(operands) == 3 else 1)  # a product and a sum

    def _rounds(self, instr: ir.Instr) -> int:
        """Returns how often an instruction runs, if no branch leaves it out."""
        rounds, loop = 1, self.shapes.loop_of(instr)
        while loop is not None:
            rounds *= _rounds_of(loop)
            loop = loop.parent
        return rounds


def _cost_apart(instr: ir.Instr) -> int:
    """Returns the instructions of an access whose lanes are apart."""
    vector = builtin_of(instr).vector
    stores = instr.op == "store" or (vector is not None and vector.stores)
    type = instr.operands[0].type if stores else instr.type
    elem, count = llvm_types.elem_of(type), llvm_types.lanes_of(type)
    if not isinstance(elem, (ir.Int, ir.Float)):
        return _APART
    if word_of(elem, count) is not None:
        return _APART
    return count * (_SMALL_STORE if stores and elem.bits < 32 else _APART)


def _rounds_of(loop: Loop) -> int:
    found = trip_count(loop.head, loop.body)
    return _UNKNOWN_ROUNDS if found is None else found
