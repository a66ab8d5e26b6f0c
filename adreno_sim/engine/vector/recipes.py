"""The vector code of each instruction of kernel IR: one table, a row for each operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir import ir, llvm_types
from ...ir.memory_ops import claimed_alignment
from ...ir.provenance import is_pointer
from ...ir.queries import may_leave_vector
from ...records import dataclass
from ..analysis.shift_amounts import written_amount
from ..emit import undefined_behaviour
from ..emit.check import NotVectorizable
from ..emit.emitter import INSTRUCTIONS
from ..llvm import objects
from ..llvm import vector_text as vt
from . import calls
from .emitter import VectorEmitter
from .lane_access import memory, transfers
from .lane_access.patterns import Pattern, pattern_of
from .reinterpretation import emit_reinterpreted

Emit = Callable[[VectorEmitter, ir.Instr], None]
Question = Callable[[VectorEmitter, ir.Instr], bool]


def _never(e: VectorEmitter, instr: ir.Instr) -> bool:
    return False


def _always(e: VectorEmitter, instr: ir.Instr) -> bool:
    return True


@dataclass(frozen=True)
class Recipe:
    """How an operation becomes vector code.

    emit: emits it. always: also where lane 0's result says all; else scalar code computes that one, and `emit` is for results
    that lanes hold each for itself. needs_lane: whether the code must not, or should not, run where no lane is at work.
    """

    emit: Emit
    always: bool = False
    needs_lane: Question = _never


def emit_instruction(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits an instruction that is neither a phi nor a terminator. Raises NotVectorizable for those that need scalar code."""
    recipe = RECIPES.get(instr.op)
    if recipe is not None and recipe.always:
        recipe.emit(e, instr)
    elif e.lanes.is_scalar(instr):
        _emit_scalar(e, instr)
    elif recipe is not None:
        recipe.emit(e, instr)
    else:
        raise NotVectorizable(f"instruction {instr.op} on values that differ between work-items")


def needs_active_lane(e: VectorEmitter, instr: ir.Instr) -> bool:
    """Returns whether an instruction must not, or should not, run if no lane is active."""
    recipe = RECIPES.get(instr.op)
    return recipe is not None and recipe.needs_lane(e, instr)


def _emit_scalar(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits an instruction for lane 0. Lane 0 of an unsigned value that is narrow in the others may be below zero."""
    if instr.op == "zext" and not e.lanes.uniform(instr) and e.unit.is_narrow(instr):
        e.define(instr, e.body.op(f"sext {e.typed_operand(instr.operands[0])} to {llvm_types.spell(instr.type)}"))
    else:
        INSTRUCTIONS[instr.op](e, instr)


def _refuse(what: str) -> Emit:
    def emit(e: VectorEmitter, instr: ir.Instr) -> None:
        raise NotVectorizable(what)

    return emit


# Arithmetic


def _emit_components(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits an instruction that treats each component of its operands alike."""
    e.lanes.define(instr, e.elementwise.emit(instr, INSTRUCTIONS[instr.op]))


def _emit_shift(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits a shift, and the check of one whose amount in the source is not below the width."""
    source, width = written_amount(instr), undefined_behaviour.elem_bits(instr.type)
    if e.unit.checked and source is not None and undefined_behaviour.elem_bits(source.type) > (width - 1).bit_length():
        spelled, elem = e.lanes.spelled(source.type), llvm_types.elem_of(source.type)
        limit = vt.numbers(elem, [width] * e.count)
        for part in e.lanes.components(source):
            e.faults.raise_lanes(e.body.op(f"icmp uge {spelled} {part}, {limit}"))
    _emit_components(e, instr)


def _emit_comparison(e: VectorEmitter, instr: ir.Instr) -> None:
    if any(is_pointer(v) for v in instr.operands):
        _emit_lane_by_lane(e, instr)
    else:
        _emit_components(e, instr)


def _emit_lane_by_lane(e: VectorEmitter, instr: ir.Instr) -> None:
    e.turns.emit(instr)


def _emit_select(e: VectorEmitter, instr: ir.Instr) -> None:
    condition, a, b = instr.operands
    chosen = e.lanes.components(condition)
    parts, others = e.lanes.parts(a, True), e.lanes.parts(b, True)
    types = e.lanes.types(instr, True)
    if len(chosen) == 1:
        chosen = chosen * len(parts)
    flags = f"<{e.count} x i1>"
    done = [
        e.body.op(f"select {flags} {c}, {type} {x}, {type} {y}")
        for c, type, x, y in zip(chosen, types, parts, others, strict=True)
    ]
    e.lanes.bind(instr, done, True)


# Moves


def _emit_cast(e: VectorEmitter, instr: ir.Instr) -> None:
    source = instr.operands[0]
    if is_pointer(instr):
        e.lanes.define_pointer(instr, e.lanes.pointer(source))
    elif instr.op == "freeze" or source.type == instr.type:
        e.lanes.define(instr, e.lanes.components(source))
    elif llvm_types.lanes_of(source.type) == llvm_types.lanes_of(instr.type):
        e.lanes.define(instr, e.elementwise.emit(instr, INSTRUCTIONS["bitcast"]))
    elif parts := emit_reinterpreted(e, e.lanes.components(source), source.type, instr.type):
        e.lanes.define(instr, parts)
    else:
        e.turns.emit(instr)


def _emit_shuffle(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits a shuffle, which costs nothing: each component is a value of its own."""
    both = e.lanes.components(instr.operands[0]) + e.lanes.components(instr.operands[1])
    e.lanes.define(instr, [both[max(lane, 0)] for lane in instr.mask])


def _emit_element(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits a read or a replacement of one component."""
    vector, index = instr.operands[0], instr.operands[-1]
    if not isinstance(index, ir.Const) or may_leave_vector(instr):
        e.turns.emit(instr)
        return
    parts = list(e.lanes.components(vector))
    at = index.value % len(parts) if isinstance(index.value, int) else 0
    if instr.op == "extractelement":
        e.lanes.define(instr, [parts[at]])
    else:
        parts[at] = e.lanes.components(instr.operands[1])[0]
        e.lanes.define(instr, parts)


# Memory


def _emit_gep(e: VectorEmitter, instr: ir.Instr) -> None:
    if all(e.lanes.uniform(v) for v in instr.operands):
        INSTRUCTIONS["gep"](e, instr)
    else:
        memory.emit_gep(e, instr)


def _emit_load(e: VectorEmitter, instr: ir.Instr) -> None:
    pointer = instr.operands[0]
    if _is_whole(instr.type):
        raise NotVectorizable(f"a load of a {instr.type}")
    if not e.privates.is_private(pointer) and e.lanes.uniform(pointer):
        INSTRUCTIONS["load"](e, instr)
        return
    transfers.emit_load(e, instr, pointer, e.lanes.pointer(pointer), claimed_alignment(instr))


def _emit_store(e: VectorEmitter, instr: ir.Instr) -> None:
    value, pointer = instr.operands
    type = value.type
    if is_pointer(value) or _is_whole(type):
        raise NotVectorizable(f"a store of a {type}")
    if e.privates.is_private(pointer) or not e.lanes.uniform(pointer):
        transfers.emit_store(e, type, e.lanes.components(value), pointer, e.lanes.pointer(pointer), claimed_alignment(instr))
    elif e.lanes.uniform(value):
        INSTRUCTIONS["store"](e, instr)
    else:
        last = memory.emit_last_lane(e, e.lanes.components(value), type)
        INSTRUCTIONS["store"](e, replace(instr, operands=[e.placeholders.make(type, last), pointer]))
        e.placeholders.release()


def _is_whole(type: ir.Type) -> bool:
    """Returns whether a value of a type is neither a number nor a vector of numbers: lanes have no form for it."""
    return isinstance(type, (ir.Pointer, ir.Array, ir.Struct, ir.Image, ir.Sampler, ir.Event))


def _emit_block(e: VectorEmitter, instr: ir.Instr) -> None:
    """Emits a fill or a copy of several bytes."""
    variable, copied = e.privates.initialized_variable(instr), e.privates.copied_variables(instr)
    if variable is not None:
        transfers.emit_fill(e, instr, variable)
    elif copied is not None and e.privates.granule(copied[0]) is not None:
        transfers.emit_copy(e, *copied)
    elif all(e.lanes.uniform(v) and not (is_pointer(v) and e.privates.is_private(v)) for v in instr.operands):
        INSTRUCTIONS[instr.op](e, instr)
    else:
        e.turns.emit(instr)


def _access_needs_lane(e: VectorEmitter, instr: ir.Instr) -> bool:
    pointer = instr.operands[-1]
    if is_slow_without_lanes(e, instr):
        return True
    if e.privates.is_private(pointer):
        type = instr.type if instr.op == "load" else instr.operands[0].type
        return not e.privates.has_bytes(pointer, llvm_types.store_size(type))
    return e.shapes.of(pointer).uniform


def is_slow_without_lanes(e: VectorEmitter, access: ir.Instr) -> bool:
    """Returns whether a load or store takes long though no lane is active: a gather on some processors, and everywhere a row in a
    page that is not there, some 80 ns. Behind the end of a loop or of the data an address may be anywhere."""
    pattern = pattern_of(e.shapes, e.privates, access)
    if pattern == Pattern.APART:
        return objects.machine().processor.skips_lanes_slowly
    return pattern == Pattern.ROW


def _call_needs_lane(e: VectorEmitter, instr: ir.Instr) -> bool:
    return calls.needs_active_lane(instr)


_COMPONENTS = (
    "add", "sub", "mul", "and", "or", "xor", "fadd", "fsub", "fmul", "fdiv", "fneg", "fcmp", "fpext", "fptrunc", "fptoui",
    "fptosi", "uitofp", "sitofp", "trunc", "zext", "sext", "udiv", "urem", "sdiv", "srem",
)  # fmt: skip

RECIPES: dict[str, Recipe] = {
    **dict.fromkeys(_COMPONENTS, Recipe(_emit_components)),
    **dict.fromkeys(("shl", "lshr", "ashr"), Recipe(_emit_shift)),
    "icmp": Recipe(_emit_comparison, needs_lane=_always),
    "frem": Recipe(_emit_lane_by_lane, needs_lane=_always),
    "select": Recipe(_emit_select),
    "freeze": Recipe(_emit_cast),
    "addrspacecast": Recipe(_emit_cast),
    "bitcast": Recipe(_emit_cast, needs_lane=_always),
    "shufflevector": Recipe(_emit_shuffle),
    "extractelement": Recipe(_emit_element, needs_lane=_always),
    "insertelement": Recipe(_emit_element, needs_lane=_always),
    "gep": Recipe(_emit_gep, always=True),
    "load": Recipe(_emit_load, always=True, needs_lane=_access_needs_lane),
    "store": Recipe(_emit_store, always=True, needs_lane=_access_needs_lane),
    **dict.fromkeys(("memcpy", "memmove", "memset"), Recipe(_emit_block, always=True, needs_lane=_always)),
    **dict.fromkeys(("alloca", "undefine"), Recipe(_emit_scalar, always=True)),
    "call": Recipe(calls.emit_call, always=True, needs_lane=_call_needs_lane),
    **dict.fromkeys(("atomicrmw", "cmpxchg"), Recipe(_refuse("atomic operations"), always=True)),
    "fence": Recipe(_refuse("memory fences"), always=True),
}
"""The recipes. An operation without one is emitted as in scalar code, and is possible only where lane 0's result says all."""
