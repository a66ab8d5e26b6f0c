"""The loops over the work-items of a group, as lines around the code of a work-item: along its axes, over linear ids, or in the
pseudo-random order of level full, which a seed determines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...abi import context
from ...abi.order_tables import items_in_table
from ...analysis.active_items import find_active_items
from ..work_items import AXES

if TYPE_CHECKING:
    from ..region import RegionEmitter

_BRANCH_IF_PRESENT = "  br i1 %turn.in, label %item, label %latch"


def emit_item_loops(e: RegionEmitter) -> tuple[list[str], list[str]]:
    """Returns head and tail of the loops that a region has."""
    if e.plan.scheduled:
        return _emit_ordered_loop(e)
    return _emit_flat_loop(e) if e.plan.by_subgroup else _emit_nested_loops(e)


def _emit_nested_loops(e: RegionEmitter) -> tuple[list[str], list[str]]:
    """Returns head and tail of the loops over z, y and x, as far as there are any (`loop_steps`)."""
    steps = e.loop_steps()
    axes = [axis for axis in (2, 1, 0) if axis in steps]
    head, tail = ["begin:"], ["latch:"]
    before = "begin"
    for axis in axes:
        name = AXES[axis]
        head += [f"  br label %loop.{name}", f"loop.{name}:"]
        head.append(f"  %l{name} = phi i64 [ 0, %{before} ], [ %l{name}.next, %latch.{name} ]")
        e.item_ids.local[axis] = f"%l{name}"
        before = f"loop.{name}"
    head.append("  br label %item")
    for axis in reversed(axes):
        name = AXES[axis]
        tail += [f"  br label %latch.{name}", f"latch.{name}:", f"  %l{name}.next = add i64 %l{name}, {steps[axis]}"]
        tail.append(f"  %l{name}.more = icmp ult i64 %l{name}.next, {_emit_end(e, axis)}")
        tail.append(f"  br i1 %l{name}.more, label %loop.{name}, label %end.{name}")
        tail.append(f"end.{name}:")
    return head, tail


def _emit_end(e: RegionEmitter, axis: int) -> str:
    """Returns the end of the loop along `axis`: the size of the group, or the bound of active work-items."""
    active = None if e.unit.spec.one_by_one else find_active_items(e.plan.regions, e.region)
    size = e.item_ids.size(axis)
    if active is None or active.axis != axis:
        return size
    if e.unit.spec.uniform:
        return str(min(active.bound, e.unit.spec.local_size[axis]))
    least = e.unit.declare("llvm.umin.i64", "i64", "i64, i64")
    return e.prologue.op(f"call {least}(i64 {size}, i64 {active.bound})")


def _emit_flat_loop(e: RegionEmitter) -> tuple[list[str], list[str]]:
    """Returns head and tail of one loop over linear local ids from %first to %last."""
    t = e.opening
    head = ["begin:", "  br label %loop", "loop:", "  %l = phi i64 [ %first, %begin ], [ %l.next, %latch ]", "  br label %item"]
    sizes = [e.item_ids.size(axis) for axis in range(3)]
    e.item_ids.local[0] = t.op(f"urem i64 %l, {sizes[0]}")
    rest = t.op(f"udiv i64 %l, {sizes[0]}")
    e.item_ids.local[1] = t.op(f"urem i64 {rest}, {sizes[1]}")
    e.item_ids.local[2] = t.op(f"udiv i64 {rest}, {sizes[1]}")
    tail = ["latch:", "  %l.next = add i64 %l, 1", "  %l.more = icmp ult i64 %l.next, %last"]
    return head, [*tail, "  br i1 %l.more, label %loop, label %end", "end:"]


def _emit_ordered_loop(e: RegionEmitter) -> tuple[list[str], list[str]]:
    """Returns head and tail of the loop over the steps of a region. The loop reads the local ids from a table."""
    spec = e.unit.spec
    table = context.read(e.prologue, context.ITEM_ORDER, "ptr")
    active = None if e.plan.by_subgroup else find_active_items(e.plan.regions, e.region)
    sizes = list(spec.local_size)
    if active is not None:
        sizes[active.axis] = min(sizes[active.axis], active.bound)
    whole = active is None or tuple(sizes) == spec.local_size
    count = items_in_table(e.plan.by_subgroup, spec.items, spec.wave_size) if whole else math.prod(sizes)
    head = ["begin:", "  br label %turn", "turn:", "  %turn.n = phi i64 [ 0, %begin ], [ %turn.next, %latch ]"]
    head += _index_from_table(table) if whole else _rotated_index(e, table, count)
    head += _ids_in_subgroup(e) if e.plan.by_subgroup else _ids_in_group(e, sizes)
    tail = ["latch:", "  %turn.next = add i64 %turn.n, 1", f"  %turn.more = icmp ult i64 %turn.next, {count}"]
    return head, [*tail, "  br i1 %turn.more, label %turn, label %end", "end:"]


def _index_from_table(table: str) -> list[str]:
    return [
        f"  %turn.p = getelementptr i32, ptr {table}, i64 %turn.n",
        "  %turn.v = load i32, ptr %turn.p, align 4, !invariant.load !1",
        "  %turn.l = zext i32 %turn.v to i64",
    ]


def _rotated_index(e: RegionEmitter, table: str, count: int) -> list[str]:
    """Returns lines for a region with few active work-items: they run consecutively, starting at one that the first table
    entry selects."""
    first = e.prologue.op(f"load i32, ptr {table}, align 4, !invariant.load !1")
    start = e.prologue.op(f"urem i64 {e.prologue.op(f'zext i32 {first} to i64')}, {count}")
    return [
        f"  %turn.s = add i64 %turn.n, {start}",
        f"  %turn.w = icmp uge i64 %turn.s, {count}",
        f"  %turn.m = sub i64 %turn.s, {count}",
        "  %turn.l = select i1 %turn.w, i64 %turn.m, i64 %turn.s",
    ]


def _ids_in_group(e: RegionEmitter, sizes: Sequence[int]) -> list[str]:
    """Returns lines that compute local ids from an id linear over `sizes`. At the edge some work-items do not exist."""
    lines = [
        f"  %lx = urem i64 %turn.l, {sizes[0]}",
        f"  %turn.r = udiv i64 %turn.l, {sizes[0]}",
        f"  %ly = urem i64 %turn.r, {sizes[1]}",
        f"  %lz = udiv i64 %turn.r, {sizes[1]}",
    ]
    e.item_ids.local[:] = ["%lx", "%ly", "%lz"]
    if e.unit.spec.uniform:
        return [*lines, "  br label %item"]
    for axis, name in enumerate("xyz"):
        lines.append(f"  %turn.{name} = icmp ult i64 %l{name}, {e.item_ids.size(axis)}")
    return [*lines, "  %turn.xy = and i1 %turn.x, %turn.y", "  %turn.in = and i1 %turn.xy, %turn.z", _BRANCH_IF_PRESENT]


def _ids_in_subgroup(e: RegionEmitter) -> list[str]:
    """Returns lines that compute local ids from the lane and the sub-group's first work-item, linear over the group's own
    extents."""
    t, sizes = e.opening, [e.item_ids.size(axis) for axis in range(3)]
    e.item_ids.local[0] = t.op(f"urem i64 %l, {sizes[0]}")
    rest = t.op(f"udiv i64 %l, {sizes[0]}")
    e.item_ids.local[1] = t.op(f"urem i64 {rest}, {sizes[1]}")
    e.item_ids.local[2] = t.op(f"udiv i64 {rest}, {sizes[1]}")
    return ["  %l = add i64 %first, %turn.l", "  %turn.in = icmp ult i64 %l, %last", _BRANCH_IF_PRESENT]
