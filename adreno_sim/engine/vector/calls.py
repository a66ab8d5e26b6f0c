"""Built-in functions in vectors: elementwise ones for all lanes at once, memory and images by their own modules, the rest
lane by lane."""

from __future__ import annotations

import re
from dataclasses import replace

from ...frontend import builtin_library
from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.provenance import is_pointer
from ..emit.access import gep_index, offset_pointer
from ..emit.builtin_registry import find_emitter
from ..emit.check import NotVectorizable
from ..emit.emitter import INSTRUCTIONS
from . import images
from .emitter import VectorEmitter
from .lane_access import memory, transfers
from .lane_access.patterns import vector_offsets
from .library import find_vector_function

_LANE_IDS = re.compile(r"get_(local_id|global_id|local_linear_id|global_linear_id)")


def needs_active_lane(instr: ir.Instr) -> bool:
    """Returns whether a call must not, or should not, run without an active lane: it accesses memory, is a library function,
    or is scalarised."""
    assert instr.callee is not None
    name = instr.callee.name
    if name.startswith(("llvm.", "get_", "convert_", "as_")):
        return False
    return find_emitter(name) is None or not builtin_of(instr).elementwise


def emit_call(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits a call of a built-in. Raises NotVectorizable for built-ins that need scalar code."""
    assert instr.callee is not None
    name = instr.callee.name
    row = builtin_of(instr)
    if not row.in_vectors:
        raise NotVectorizable(f"{name}()")
    if (
        row.vector is not None
        and not row.vector.half
        and (e.shapes.of(instr).lane_offsets is None or isinstance(instr.type, ir.Void))
    ):
        _emit_vector_access(e, instr)
    elif _LANE_IDS.fullmatch(name) and e.shapes.of(instr).lane_offsets is None:
        e.turns.emit(instr)
    elif e.lanes.is_scalar(instr) and not any(_differs_by_lane(e, v) for v in instr.operands) and not _has_effect(instr):
        INSTRUCTIONS["call"](e, instr)
    elif row.image == "read":
        images.emit_read(e, instr)
    elif row.image == "write":
        images.emit_write(e, instr)
    else:
        _emit_vector(e, instr)


def _differs_by_lane(e: VectorEmitter, value: ir.Value) -> bool:
    """Returns whether an operand is a pointer to different memory in each lane."""
    return is_pointer(value) and (not e.lanes.uniform(value) or e.privates.is_private(value))


def _has_effect(instr: ir.Instr) -> bool:
    """Returns whether a call writes: then each lane must run it, even with equal operands."""
    row = builtin_of(instr)
    return row.image == "write" or (row.vector is not None and row.vector.stores)


def _emit_vector(e: VectorEmitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    name, emitter = instr.callee.name, find_emitter(instr.callee.name)
    single = not (instr.operands and isinstance(instr.operands[0].type, ir.Vector))
    row = builtin_of(instr)
    if emitter is None or (name == "dot" and isinstance(instr.type, ir.Float)):
        _emit_library(e, instr)
    elif not row.elementwise or not _keeps_components_apart(instr):
        e.turns.emit(instr)
    elif name == "select" and single:
        _emit_select(e, instr)
    elif row.tells_truth and single and instr.type != ir.Int(1):
        flags = e.elementwise.emit(instr, emitter)
        spelled = e.lanes.spelled(instr.type)
        e.lanes.define(instr, [e.body.op(f"sub {spelled} zeroinitializer, {flag}") for flag in flags])
    else:
        e.lanes.define(instr, e.elementwise.emit(instr, emitter))


def _keeps_components_apart(instr: ir.Instr) -> bool:
    """Returns whether every operand has one component, or as many as the result."""
    count = llvm_types.lanes_of(instr.type)
    if builtin_of(instr).reinterprets:
        return llvm_types.lanes_of(instr.operands[0].type) == count
    return all(llvm_types.lanes_of(v.type) in (1, count) for v in instr.operands) and not any(
        is_pointer(v) for v in instr.operands
    )


def _emit_select(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits the built-in select on scalars, which tests for zero."""
    a, b, by = instr.operands
    condition = e.lanes.components(by)[0]
    flags = e.body.op(f"icmp ne {e.lanes.spelled(by.type)} {condition}, zeroinitializer")
    spelled = e.lanes.spelled(instr.type)
    x, y = e.lanes.components(a)[0], e.lanes.components(b)[0]
    e.lanes.define(instr, [e.body.op(f"select <{e.count} x i1> {flags}, {spelled} {y}, {spelled} {x}")])


def _emit_library(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits a library function: as a function of vectors if it is straight-line code, else lane by lane."""
    assert instr.callee is not None
    name = builtin_library.scalar_of(instr.callee)
    if name is None or any(is_pointer(v) for v in instr.operands):
        e.turns.emit(instr)
        return
    function = find_vector_function(e.unit, builtin_library.functions([name])[name], e.count)
    if function is None:
        e.turns.emit(instr)
        return
    total = llvm_types.lanes_of(instr.type)
    parts = [e.lanes.components(v) for v in instr.operands]
    if name == instr.callee.mangled:
        e.lanes.define(instr, function.call(e, parts))
        return
    results = []
    for at in range(total):
        results += function.call(e, [p if len(p) == 1 else [p[at]] for p in parts])
    e.lanes.define(instr, results)


def _emit_vector_access(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits vloadN or vstoreN."""
    storing = isinstance(instr.type, ir.Void)
    index, pointer = instr.operands[-2:]
    type = instr.operands[0].type if storing else instr.type
    assert isinstance(type, ir.Vector)
    size = llvm_types.size_of(type.elem)
    where = e.lanes.pointer(pointer)
    step = size * type.count
    if e.lanes.uniform(index):
        number = index.value if isinstance(index, ir.Const) and isinstance(index.value, int) else e.value(index)
        where = replace(where, pointer=offset_pointer(e, where.pointer, number, step))
    elif where.index is None and (offsets := vector_offsets(e.shapes, instr)) is not None:
        first = offset_pointer(e, where.pointer, gep_index(e, index), step)
        where = replace(where, pointer=first, lane_offsets=offsets)
    else:
        where = memory.step_lanes(e, where, index, step)
    if storing:
        transfers.emit_store(e, type, e.lanes.components(instr.operands[0]), pointer, where, size)
    else:
        transfers.emit_load(e, instr, pointer, where, size)
