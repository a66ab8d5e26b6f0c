"""The schedule of work-items at level full: a pseudo-random order that a seed determines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..abi import context
from ..abi.order_tables import items_in_table
from ..analysis.active_items import find_active_items

if TYPE_CHECKING:
    from .region import RegionEmitter


_BRANCH_IF_PRESENT = "  br i1 %turn.in, label %item, label %latch"


def emit_item_loop(e: RegionEmitter) -> tuple[list[str], list[str]]:
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
