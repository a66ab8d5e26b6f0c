"""The registry of built-in functions by source name. A built-in without an emitter is taken from the library, lane by lane."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...ir import ir, llvm_types
from .emitter import Emitter

BuiltinEmitter = Callable[[Emitter, ir.Instr], None]

EMITTERS: dict[str, BuiltinEmitter] = {}
FAMILY_EMITTERS: list[tuple[str, BuiltinEmitter]] = []


def builtin(*names: str) -> Callable[[BuiltinEmitter], BuiltinEmitter]:
    """Registers the decorated function as the emitter of the built-ins `names`."""

    def register(function: BuiltinEmitter) -> BuiltinEmitter:
        for name in names:
            EMITTERS[name] = function
        return function

    return register


def builtin_family(pattern: str) -> Callable[[BuiltinEmitter], BuiltinEmitter]:
    """Registers the decorated function as the emitter of every built-in whose whole name matches `pattern`."""

    def register(function: BuiltinEmitter) -> BuiltinEmitter:
        FAMILY_EMITTERS.append((pattern, function))
        return function

    return register


def find_emitter(name: str) -> BuiltinEmitter | None:
    """Returns the emitter of the built-in `name`; None if the library has to supply it."""
    found = EMITTERS.get(name)
    if found is None:
        found = next((function for pattern, function in FAMILY_EMITTERS if re.fullmatch(pattern, name)), None)
        if found is not None:
            EMITTERS[name] = found
    return found


def emit_intrinsic(e: Emitter, name: str, type: ir.Type, *operands: str) -> str:
    """Emits a call of `llvm.name.type`, whose operands and result all have `type`. Returns the result."""
    spelled = llvm_types.spell(type)
    callee = e.unit.declare(f"llvm.{name}.{intrinsic_suffix(type)}", spelled, ", ".join([spelled] * len(operands)))
    return e.body.op(f"call {callee}({', '.join(f'{spelled} {o}' for o in operands)})")


def intrinsic_suffix(type: ir.Type) -> str:
    """Returns LLVM's spelling of a type in the name of an intrinsic: v4f32, i64, f16."""
    elem = llvm_types.elem_of(type)
    assert isinstance(elem, (ir.Int, ir.Float))
    base = f"{'i' if isinstance(elem, ir.Int) else 'f'}{elem.bits}"
    return f"v{type.count}{base}" if isinstance(type, ir.Vector) else base


def is_signed(instr: ir.Instr, argument: int = 0) -> bool:
    """Returns whether the source type of an integer argument is signed. IR types do not tell."""
    assert instr.callee is not None
    return not instr.callee.args[argument].rpartition(" ")[2].startswith("u")


def broadcast_to(e: Emitter, value: ir.Value, type: ir.Type) -> str:
    """Returns the operand of `value`, splatted if `type` is a vector and `value` is a scalar, as in max(float4, float)."""
    operand = e.value(value)
    if not isinstance(type, ir.Vector) or isinstance(value.type, ir.Vector):
        return operand
    spelled = llvm_types.spell(type)
    first = e.body.op(f"insertelement {spelled} zeroinitializer, {llvm_types.spell(value.type)} {operand}, i32 0")
    zeros = f"<{type.count} x i32> zeroinitializer"
    return e.body.op(f"shufflevector {spelled} {first}, {spelled} zeroinitializer, {zeros}")
