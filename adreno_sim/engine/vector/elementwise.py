"""One instruction for all lanes at once: the emitter of its scalar form gets vectors over the lanes as operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir import ir, llvm_types
from ..emit.half_arithmetic import is_half, keep_normal
from ..emit.region import RegionEmitter
from .active import ActiveLanes
from .placeholders import Placeholders
from .values import LaneValues


class Elementwise:
    """Emits elementwise instructions component by component."""

    def __init__(self, e: RegionEmitter, lanes: LaneValues, active: ActiveLanes, placeholders: Placeholders):
        self._e, self._lanes, self._active, self._placeholders = e, lanes, active, placeholders
        self._is_used = True  # that something uses the component that is emitted

    def emit(self, instr: ir.Instr, emit: Callable[..., None]) -> list[str]:
        """Emits an elementwise instruction on each component. Operands with one component serve all. Returns the components of
        the result, which `emit` has defined as that of scalar code."""
        total = llvm_types.lanes_of(instr.type)
        operands = [self._operands(v, total) for v in instr.operands]
        results, type = [], self._lanes.wide(instr.type)
        used = self._e.unit.lane_uses(self._e.function).demand(instr).any if total > 1 else {0}
        with self._active.all_at_once():
            for at in range(total):
                self._is_used = at in used
                pseudo = ir.Instr(instr.op, type, [o[at] for o in operands], instr.loc, instr.pred, instr.callee)
                emit(self._e, pseudo)
                results.append(self._e.values.pop(id(pseudo)))
        self._placeholders.release()
        return results

    def unused_lanes(self, type: ir.Type) -> frozenset[int]:
        """Returns the lanes of a component that nothing uses: all, or none."""
        return frozenset() if self._is_used else frozenset(range(llvm_types.lanes_of(type)))

    def _operands(self, value: ir.Value, total: int) -> Sequence[ir.Value]:
        type = self._lanes.wide(value.type)
        if isinstance(value, ir.Const):
            items = value.value if isinstance(value.value, tuple) else (value,)
            same: list[ir.Value] = []
            for item in items:
                whole = (ir.Const(item.type, item.value),) * self._active.count
                same.append(ir.Const(type, whole) if isinstance(item.value, int) else ir.Const(type, None))
            return same if len(same) == total else same * total
        components = self._lanes.components(value)
        if is_half(type):
            keep_normal(self._e, value, *components)
        parts = [self._placeholders.make(type, component) for component in components]
        return parts if len(parts) == total else parts * total
