"""Vectors for the long sums of functions that TVM compiles for the CPU: without a schedule, it computes one element at a time.

Neighbouring results are lanes of a vector; each of them is summed in the order in which it was without that, so that no bit of it
changes.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod
from typing import TYPE_CHECKING, Any

from ..compiler.tvm_bridge.pass_pipelines import clone
from ..compiler.tvm_bridge.schedule_blocks import blocks_of, is_reduction, iter_kinds, written_buffer
from ..compiler.tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

LEAST_STEPS = 10_000_000
"""Steps of a sum from which a schedule takes less time than it saves."""

LANES = range(4, 9)
"""Of a vector: fewer gain little, more compile longer and run no faster."""

DTYPES = ("float32", "int32")
"""Of the sums. What LLVM makes of halves depends on the processor."""


def vectorize_sums(written: Collection[str]) -> Pass:
    """Returns the pass over all functions but those named: somebody wrote them, and they run as they were written."""
    tvm = import_tvm()

    def transform(module: Any, _context: Any) -> Any:
        changed = clone(module)
        for var, function in module.functions_items():
            if isinstance(function, tvm.tirx.PrimFunc) and str(var.name_hint) not in written:
                changed[var] = vectorize(function)
        return changed

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.VectorizeSums")


def vectorize(function: Any) -> Any:
    """Returns the function with vectors in its long sums; itself if it has none, or TVM's schedules do not take them."""
    tvm = import_tvm()
    schedule = tvm.s_tir.Schedule(function)
    found = [(block, _choose_lanes(schedule, block)) for block in blocks_of(schedule)]
    try:
        for block, lanes in found:
            if lanes:
                _vectorize_block(schedule, block, lanes)
    except tvm.s_tir.ScheduleError:
        return function
    return schedule.mod["main"] if any(lanes for _, lanes in found) else function


def _choose_lanes(schedule: Any, block: Any) -> int:
    """Returns how many neighbouring results are one vector; 0 for a block that is not a long sum, or whose results do not divide
    into such vectors: a ragged end takes longer than it saves."""
    if not is_reduction(schedule, block) or written_buffer(schedule, block).dtype not in DTYPES:
        return 0
    kinds, extents = iter_kinds(schedule, block), [var.dom.extent for var in schedule.get(block).iter_vars]
    if "S" not in kinds or len(kinds) != len(schedule.get_loops(block)):
        return 0
    if not all(isinstance(extent, import_tvm().tirx.IntImm) for extent in extents):
        return 0
    if prod(int(extent) for extent in extents) < LEAST_STEPS:
        return 0
    neighbours = int(extents[kinds.rindex("S")])
    return max((count for count in LANES if neighbours % count == 0), default=0)


def _vectorize_block(schedule: Any, block: Any, lanes: int) -> None:
    """The last dimension of the result in vectors, inside the loops of the sum."""
    kinds, loops = iter_kinds(schedule, block), schedule.get_loops(block)
    results = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == "S"]
    terms = [loop for loop, kind in zip(loops, kinds, strict=True) if kind != "S"]
    outer, inner = schedule.split(results[-1], [None, lanes])
    schedule.reorder(*results[:-1], outer, *terms, inner)
    schedule.vectorize(inner)
    schedule.decompose_reduction(block, terms[0])
