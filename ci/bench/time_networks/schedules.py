"""Schedules of tuning records in a network: each convolution that a record is of is scheduled as the record says, in TVM's terms.

An axis of outputs is split into groups, virtual threads and work-items; around the outputs of a work-item, which it keeps, are
the loops of the reduction. Padding is a condition where a texel is read: a network has no copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from time_records.record import BLOCK, Record, Split

from adreno_sim.compiler.schedule_database.anchor import Anchor, find_anchor
from adreno_sim.compiler.schedule_database.apply import with_attributes_of
from adreno_sim.compiler.schedule_database.tasks import cuts, isolate
from adreno_sim.compiler.schedules.blocks import inline_consumers, inline_producers
from adreno_sim.compiler.tvm_bridge.pass_pipelines import clone
from adreno_sim.compiler.tvm_bridge.read import kind
from adreno_sim.compiler.tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.ir.transform import Pass

Workload = tuple[object, ...]
"""Type; blocks of channels; height and width of what the sum reads; weights' sizes; height and width of the output."""


class RecordSchedules:
    """A source of schedules for the pipeline, by where they are from. applied: where that of a function is from, or why it has
    none."""

    first_schedule = "records.Schedule"

    def __init__(self, records: Mapping[str, Iterable[Record]]):
        self.applied: dict[str, str] = {}
        self._records = {_workload_of(record): (origin, record) for origin, some in records.items() for record in some}

    def add_passes(self, passes: list[Pass]) -> list[Pass]:
        """The Relax passes with one more, before TVM's rules schedule what it leaves."""
        _, schedule = cuts(passes)
        own = import_tvm().transform.module_pass(self._apply, opt_level=0, name=self.first_schedule)
        return [*passes[:schedule], own, *passes[schedule:]]

    def _apply(self, module: IRModule, _context: Any) -> IRModule:
        changed = clone(module)
        for var, function in module.functions_items():
            if kind(function) == "PrimFunc" and (found := self._schedule(str(var.name_hint), function)) is not None:
                changed[var] = with_attributes_of(found, function)
        return changed

    def _schedule(self, name: str, function: Any) -> Any:
        tvm = import_tvm()
        sch = tvm.s_tir.Schedule(isolate(function))
        anchor = find_anchor(sch)
        if anchor is None or not anchor.packed:
            return None
        if (found := self._records.get(_workload_in(anchor))) is None:
            self.applied[name] = "no schedule"
            return None
        origin, record = found
        try:
            schedule_as(sch, anchor, record)
        except tvm.s_tir.ScheduleError as error:
            self.applied[name] = f"no schedule: {str(error).strip().splitlines()[-1]}"
            return None
        self.applied[name] = origin
        return sch.mod["main"]


def _workload_of(record: Record) -> Workload:
    """A sum over channels reads what is padded already, a depthwise one what is not yet."""
    top, left, bottom, right = (0, 0, 0, 0) if record.depthwise else record.padding
    _, _, height, width = record.shape
    filters = record.channel_blocks, 1 if record.depthwise else record.input_blocks * BLOCK, *record.weight[2:]
    return record.dtype, record.input_blocks, (height + top + bottom, width + left + right), filters, record.output


def _workload_in(anchor: Anchor) -> Workload:
    data, weight = anchor.operands
    _, channels, rows, columns, _ = (int(size) for size in data.shape)
    filters = tuple(int(size) for size in weight.shape[:4])
    return data.dtype, channels, (rows, columns), filters, anchor.extents[2:4]


def schedule_as(sch: Any, anchor: Anchor, record: Record) -> None:
    """Schedules a convolution over texels in place. ScheduleError where a step does not apply."""
    block = sch.get_sblock(anchor.name)
    padded = list(sch.get_producers(block))
    for producer in padded:
        inline_producers(sch, producer)
    inline_consumers(sch, block)
    result = sch.cache_write(block, 0, "local")
    for consumer in sch.get_consumers(result):
        sch.reverse_compute_inline(consumer)
    batch, *axes, lane, channel, row, column = sch.get_loops(block)
    real = [Split(parts, split.items) for parts, split in zip(record.real_parts(), (record.fc, record.y, record.x), strict=True)]
    tiles = [sch.split(axis, [None, split.parts, split.items]) for axis, split in zip(axes, real, strict=True)]
    groups, parts, items = (list(loops) for loops in zip(*tiles, strict=True))
    inner = [1, 1] if record.depthwise else [record.rc, BLOCK]
    outer_channel, inner_channel, texel = sch.split(channel, [None, *inner])
    outer_row, inner_row = sch.split(row, [None, record.ry])
    outer_column, inner_column = sch.split(column, [None, record.rx])
    outer = [outer_channel, outer_row, outer_column]
    sch.reorder(batch, *groups, *parts, *items, *outer, inner_channel, inner_row, inner_column, texel, lane)
    groups[0] = sch.fuse(batch, groups[0])
    for loops, tag in ((groups, "blockIdx"), (parts, "vthread"), (items, "threadIdx")):
        for loop, axis in zip(loops, "zyx", strict=True):
            sch.bind(loop, f"{tag}.{axis}")
    for producer in padded:
        sch.set_scope(producer, 0, "local")
    stages = [(producer, inner_column) for producer in padded] or [(sch.cache_read(block, 0, "local"), inner_column)]
    for texels, place in (*stages, (sch.cache_read(block, 1, "local"), texel)):
        sch.compute_at(texels, place, preserve_unit_loops=True)
        sch.vectorize(sch.get_loops(texels)[-1])
    sch.unroll(texel)
    sch.reverse_compute_at(result, items[-1], preserve_unit_loops=True)
    sch.vectorize(sch.get_loops(result)[-1])
    sch.vectorize(lane)
    sch.decompose_reduction(block, outer_channel)
