"""Loads in a loop that walk along a row of each lane's own: every iteration takes the elements behind those of the one before.

The elements that the next iterations load are then known, and may be loaded early: the loop ends by its counter alone, the
load runs in every iteration, and nothing in the loop writes.
"""

from __future__ import annotations

from ....ir import ir, llvm_types
from ....ir.builtins import builtin_of
from ....ir.induction_variables import find_induction_variable, signed_constant
from ....ir.memory_ops import address_operands
from ....ir.provenance import gep_terms, is_pointer
from ...analysis.loop_bounds import Counter, find_counter, trip_count
from ...analysis.segments import Segment
from ..lane_shapes import LaneShapes
from ..privates import Privates
from ..structure import Loop, Structure

_DEEPEST = 32
"""Operations between a counter and an address that are looked through."""
_FARTHEST = 1 << 10
"""Steps of an index up to which what is known to be narrow (`Proofs.narrow`) does not wrap within a row."""
_FEWEST = 4
"""Iterations of a loop in which rows are worth loading early."""
_SMALL = 32
"""Instructions of a loop that is worth unrolling along its rows."""
_PURE = ("add", "sub", "mul", "shl", "lshr", "ashr", "udiv", "sdiv", "and", "or", "sext", "zext", "trunc")
_WRITES = ("store", "atomicrmw", "cmpxchg", "memcpy", "memmove", "memset", "fence")


class StridedLoads:
    """The walks of the loops of `structure`, whose divergence is marked."""

    def __init__(self, structure: Structure, shapes: LaneShapes, privates: Privates):
        self._structure, self._shapes, self._privates = structure, shapes, privates
        self._counters: dict[Loop, Counter | None] = {}
        self._steps: dict[tuple[Loop, int], int | None] = {}

    def counter_of(self, load: ir.Instr) -> Counter | None:
        """Returns the counter of the loop in which `load`, whose lanes are apart, walks; None if it does not."""
        segment = self._structure.segment_of.get(id(load))
        loop = self._structure.innermost[segment] if segment is not None else None
        if segment is None or loop is None or load.op != "load" or load.volatile:
            return None
        elem, count = llvm_types.elem_of(load.type), llvm_types.lanes_of(load.type)
        if not isinstance(elem, (ir.Int, ir.Float)) or elem.bits < 8 or count & (count - 1):
            return None
        if not self._runs_in_every_iteration(segment, loop):
            return None
        if loop not in self._counters:
            self._counters[loop] = self._find_counter(loop)
        counter = self._counters[loop]
        if counter is None or self._step(load.operands[0], loop, counter, 0) != llvm_types.size_of(elem) * count:
            return None
        return counter

    def small_loop_of(self, load: ir.Instr) -> Loop | None:
        """Returns the loop in which a load walks, if the iterations for which columns are loaded at once should become one."""
        loop = self._structure.innermost[self._structure.segment_of[id(load)]]
        if loop is None or self._structure.holds_loops(loop):
            return None
        return loop if sum(len(segment.instrs) for segment in loop.body) <= _SMALL else None

    def _runs_in_every_iteration(self, segment: Segment, loop: Loop) -> bool:
        """Returns whether every lane that is in `loop` runs `segment` in every iteration, the test of the loop behind it."""
        tails = [s for s in loop.body if loop.head in s.successors]
        masked = loop.divergent or segment in self._structure.levels[loop].linear
        return segment is not loop.head and not masked and all(self._structure.dominates(segment, tail) for tail in tails)

    def _find_counter(self, loop: Loop) -> Counter | None:
        only_exit = len(loop.leaving) == 1 and loop.leaving[0].source is loop.head
        if not only_exit or any(s.sync is not None for s in loop.body):
            return None
        rounds = trip_count(loop.head, loop.body)
        if rounds is not None and rounds < _FEWEST:
            return None
        if any(self._may_write(i) for s in loop.body for i in s.instrs):
            return None
        counter = find_counter(loop.head, loop.body, lambda value: self._is_invariant(value, loop))
        if counter and all(self._shapes.of(value).uniform for value in (counter.phi, counter.bound, counter.start)):
            return counter
        return None

    def _is_invariant(self, value: ir.Value, loop: Loop) -> bool:
        """Returns whether a value, the same for all lanes, is computed from what is known before the loop alone."""
        pending = [value]
        for _ in range(_DEEPEST):
            if not pending:
                break
            one = pending.pop()
            if isinstance(one, ir.Instr) and self._structure.segment_of.get(id(one)) in loop.body:
                if one.op not in _PURE and not builtin_of(one).query:
                    return False
                pending += one.operands
        return not pending

    def _may_write(self, instr: ir.Instr) -> bool:
        """Returns whether an instruction may write what the lanes load, or waits for others that do."""
        if instr.op == "call":
            row = builtin_of(instr)
            pointers = any(is_pointer(v) and not self._privates.is_private(v) for v in instr.operands)
            reads = row.vector is not None and not row.vector.stores
            return row.image == "write" or row.fence_flags or row.atomic or row.sync is not None or (pointers and not reads)
        written = address_operands(instr)[:1] if instr.op in _WRITES else []
        return instr.op in _WRITES and not (written and self._privates.is_private(written[0]))

    def _step(self, value: ir.Value, loop: Loop, counter: Counter, depth: int) -> int | None:
        """Returns what every iteration adds to `value`, modulo 2 to the power of its bits; None if that is not known."""
        if not isinstance(value, ir.Instr) or self._structure.segment_of.get(id(value)) not in loop.body:
            return 0
        key = loop, id(value)
        if key not in self._steps:
            self._steps[key] = self._find_step(value, loop, counter, depth + 1) if depth < _DEEPEST else None
        return self._steps[key]

    def _find_step(self, value: ir.Instr, loop: Loop, counter: Counter, depth: int) -> int | None:
        if value.op == "phi":
            return counter.step if value is counter.phi else _step_of_phi(value, loop)
        known = [step for v in value.operands if (step := self._step(v, loop, counter, depth)) is not None]
        if len(known) < len(value.operands):
            return None
        if value.op in ("bitcast", "addrspacecast", "freeze"):
            return known[0] if is_pointer(value) or value.type == value.operands[0].type else None
        if value.op in ("add", "sub"):
            return known[0] + (known[1] if value.op == "add" else -known[1])
        if value.op in ("mul", "shl") and (factor := signed_constant(value.operands[1])) is not None:
            return known[0] * (factor if value.op == "mul" else 1 << max(factor, 0))
        if value.op in ("sext", "zext"):
            return known[0] if self._extends(value, known[0], loop, counter) else None
        if value.op == "gep":
            return self._step_of_gep(value, known, loop, counter)
        return None

    def _step_of_gep(self, gep: ir.Instr, steps: list[int], loop: Loop, counter: Counter) -> int | None:
        total = steps[0]
        for number, stride in gep_terms(gep)[1]:
            index = gep.operands[number]
            narrow = isinstance(index.type, ir.Int) and index.type.bits < 64
            if steps[number] and narrow and not self._is_exact(index, loop, counter, 0):
                return None
            total += stride * steps[number]
        return total

    def _extends(self, extension: ir.Instr, step: int, loop: Loop, counter: Counter) -> bool:
        """Returns whether what is extended does not wrap within the iterations of a row."""
        if step == 0 or (abs(step) <= _FARTHEST and self._shapes.is_narrow(extension)):
            return True
        source = extension.operands[0]
        if extension.op == "zext":
            return source is counter.phi and counter.stays.startswith("u")
        return self._is_exact(source, loop, counter, 0)

    def _is_exact(self, value: ir.Value, loop: Loop, counter: Counter, depth: int) -> bool:
        """Returns whether the steps of a value hold in unbounded signed integers."""
        if self._step(value, loop, counter, depth) == 0:
            return True
        if value is counter.phi:
            return counter.stays.startswith("s")
        if not isinstance(value, ir.Instr) or value.op not in ("add", "sub", "mul", "shl") or depth == _DEEPEST:
            return False
        return self._shapes.is_nsw_at_work(value) and all(self._is_exact(v, loop, counter, depth + 1) for v in value.operands)


def _step_of_phi(phi: ir.Instr, loop: Loop) -> int | None:
    """Returns the constant that every iteration adds to a phi of the loop's head; None for others."""
    found = find_induction_variable(phi, loop.blocks.__contains__) if any(i is phi for i in loop.head.instrs) else None
    return found and found.step
