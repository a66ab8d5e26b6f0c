"""Finds regions in which only the first work-items along one axis have any effect, as in each step of a tree reduction.

In `if (get_local_id(0) < 16) ...; barrier(...)` the loop over work-items may end at 16: all others reach the same barrier and
neither touch memory nor report anything.
"""

from __future__ import annotations

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.queries import may_leave_vector
from ...records import dataclass
from .failures import attempt
from .parallel_regions import ParallelRegion, RegionPlan
from .segments import Segment
from .shift_amounts import written_amount

_SIDE_EFFECT_FREE_OPS = {
    "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "icmp", "fcmp", "trunc", "zext", "sext", "select", "phi",
    "gep", "bitcast", "addrspacecast", "freeze", "extractelement", "insertelement", "shufflevector", "fadd", "fsub", "fmul",
    "fneg", "fpext", "sitofp", "uitofp",
}  # fmt: skip
"""Operations that neither touch memory nor report a finding."""


@dataclass(frozen=True)
class ActiveItems:
    """Only work-items whose local id along `axis` is below `bound` (> 0) have an effect."""

    axis: int
    bound: int


def find_active_items(plan: RegionPlan, region: ParallelRegion) -> ActiveItems | None:
    """Returns the active items of `region`, or None if all may have an effect.

    The region must begin with the test, all work-items must leave it by the same synchronisation point, and no value computed
    in it may be live after that point.
    """
    return attempt("work-items without effect", lambda: _find_active_items(plan, region), None)


def _find_active_items(plan: RegionPlan, region: ParallelRegion) -> ActiveItems | None:
    first = region.order[0]
    last = first.block.instrs[-1]
    if region.number == 0 or first.sync is not None or last.op != "condbr":
        return None  # region 0 also gives private variables their zeros
    if not all(map(is_side_effect_free, first.instrs[:-1])):
        return None
    ends = {s.sync.number if s.sync else 0 for s in region.order if s.sync or not s.successors}
    if len(ends) != 1 or not _goes_straight_to_sync(first.successors[1]) or _defines_live_out(plan, region):
        return None
    return _items_from_condition(last.operands[0])


def is_side_effect_free(instr: ir.Instr) -> bool:
    """Returns whether nothing except its value depends on whether a work-item executes an instruction: it neither touches memory
    nor may be reported.
    """
    if may_leave_vector(instr) or written_amount(instr) is not None:
        return False
    converts = builtin_of(instr).plain_conversion and isinstance(ir.type_of(instr.operands[0]), ir.Int)
    return instr.op in _SIDE_EFFECT_FREE_OPS or builtin_of(instr).query or converts


def _goes_straight_to_sync(segment: Segment) -> bool:
    """Returns True if the only path from `segment` leads to a synchronisation point or to the end, without side effects."""
    seen: set[Segment] = set()
    while segment not in seen:
        seen.add(segment)
        if segment.sync is not None:
            return all(map(is_side_effect_free, segment.instrs))
        if not all(map(is_side_effect_free, segment.instrs[:-1])):
            return False
        last = segment.block.instrs[-1]
        if last.op != "br":
            return last.op == "ret"
        segment = segment.successors[0]
    return False


def _defines_live_out(plan: RegionPlan, region: ParallelRegion) -> bool:
    """Returns True if a value computed in the region is live after its synchronisation points: every work-item must then
    compute it."""
    sync_points = [s.sync for s in region.order if s.sync is not None]
    return any(sync.instr.operands and sync.scope == "wave" for sync in sync_points) or any(
        id(value) in region.defined for sync in sync_points for value in plan.live_across(sync)
    )


def _items_from_condition(condition: ir.Value) -> ActiveItems | None:
    """Returns the active items under which `condition` can be true, or None."""
    if not isinstance(condition, ir.Instr):
        return None
    if condition.op in ("zext", "sext", "freeze"):
        return _items_from_condition(condition.operands[0])
    if condition.op == "and" and condition.type == ir.Int(1):
        return _items_from_condition(condition.operands[0]) or _items_from_condition(condition.operands[1])
    if condition.op == "select" and _is_false(condition.operands[2]):
        return _items_from_condition(condition.operands[0]) or _items_from_condition(condition.operands[1])
    return _items_from_comparison(condition) if condition.op == "icmp" else None


def _items_from_comparison(test: ir.Instr) -> ActiveItems | None:
    """Returns the active items under which the comparison of a local id with a constant can be true, or None."""
    left, right = test.operands
    if not (isinstance(right, ir.Const) and isinstance(right.value, int)):
        return None
    if test.pred == "ne" and right.value == 0:
        return _items_from_condition(left)
    axis = _local_axis(left)
    limit = {"slt": right.value, "ult": right.value, "sle": right.value + 1, "ule": right.value + 1}.get(test.pred)
    if test.pred == "eq":
        limit = right.value + 1
    return ActiveItems(axis, limit) if axis is not None and limit is not None and 0 < limit <= 1024 else None


def _local_axis(value: ir.Value) -> int | None:
    """Returns the axis whose local id `value` is, or None. Conversions to 32 bits or more are looked through: an id fits 31
    bits, but not a byte."""
    while isinstance(value, ir.Instr):
        if isinstance(value.type, ir.Int) and value.type.bits < 32:
            return None
        if value.op in ("trunc", "zext", "sext") or (value.callee is not None and value.callee.name == "convert_int"):
            value = value.operands[0]
            continue
        if value.callee is not None and value.callee.name == "get_local_id":
            axis = value.operands[0]
            if isinstance(axis, ir.Const) and isinstance(axis.value, int) and axis.value < 3:
                return axis.value
        return None
    return None


def _is_false(value: ir.Value) -> bool:
    return isinstance(value, ir.Const) and value.value == 0
