"""Atomic operations: those of OpenCL C 1.x and 2.x, and LLVM's."""

from __future__ import annotations

import re

from ...ir import ir
from ..program import Value
from .memory import Address, load, place_of, store
from .translation import ElementPointer, Handler, Translation, Values, bits_of, is_unsigned, refuse

_OF_LLVM = {
    "add": "iadd", "min": "imin", "max": "imax", "umin": "umin", "umax": "umax", "and": "iand", "or": "ior", "xor": "ixor",
    "xchg": "xchg",
}  # fmt: skip
_OF_FETCHES = {"add": "iadd", "sub": "iadd", "and": "iand", "or": "ior", "xor": "ixor", "xchg": "xchg", "exchange": "xchg"}
_NAME = re.compile(r"(?:atomic|atom)_(?:fetch_)?(\w+?)(?:_explicit)?")


def _find(translation: Translation, pointer: ir.Value, instr: ir.Instr) -> Address:
    place = place_of(translation, pointer)
    if isinstance(place, ElementPointer) or place.space == "scratch":
        raise refuse("an atomic operation on private memory", instr)
    return place


def _modify(translation: Translation, instr: ir.Instr, operation: str, value: Value) -> Value:
    place, bits = _find(translation, instr.operands[0], instr), translation.program.bits(value)
    if bits != 32:
        raise refuse(f"an atomic operation on {bits} bits", instr)
    return translation.program.intrinsic(
        f"{place.space}_atomic", [place.value, value], 1, bits, ATOMIC_OP=f"atomic_op_{operation}"
    )


def _swap(translation: Translation, instr: ir.Instr, expected: Value, new: Value) -> Value:
    place, bits = _find(translation, instr.operands[0], instr), translation.program.bits(new)
    if bits != 32:
        raise refuse(f"an atomic operation on {bits} bits", instr)
    operands = [place.value, expected, new]
    return translation.program.intrinsic(f"{place.space}_atomic_swap", operands, 1, bits, ATOMIC_OP="atomic_op_cmpxchg")


def _read_modify_write(translation: Translation, instr: ir.Instr) -> Values:
    value = translation.scalar(instr.operands[1])
    if instr.pred == "sub":
        return (_modify(translation, instr, "iadd", translation.program.op("ineg", value)),)
    if instr.pred not in _OF_LLVM:
        raise refuse(f"atomicrmw {instr.pred}", instr)
    return (_modify(translation, instr, _OF_LLVM[instr.pred], value),)


def _compare_exchange(translation: Translation, instr: ir.Instr) -> Values:
    expected, new = map(translation.scalar, instr.operands[1:])
    old = _swap(translation, instr, expected, new)
    return old, translation.program.op("ieq", old, expected)


def call_atomic(translation: Translation, instr: ir.Instr) -> Values | None:
    """Translates a call of an atomic built-in."""
    assert instr.callee is not None
    match, program = _NAME.fullmatch(instr.callee.name), translation.program
    what = match[1] if match else ""
    if what.startswith(("compare_exchange", "flag")):
        return _exchange_through_pointer(translation, instr, what)
    if what in ("load", "store", "init"):
        place = _find(translation, instr.operands[0], instr)
        type = instr.type if what == "load" else ir.type_of(instr.operands[1])
        if what == "load":
            return load(translation, place, [(0, type)], bits_of(type) // 8)
        store(translation, place, [(0, type)], translation.value(instr.operands[1]), bits_of(type) // 8)
        return None
    if what in ("inc", "dec"):
        return (_modify(translation, instr, "iadd", program.constant(1 if what == "inc" else -1, bits_of(instr.type))),)
    if what == "cmpxchg":
        return (_swap(translation, instr, *map(translation.scalar, instr.operands[1:3])),)
    value = translation.scalar(instr.operands[1])
    if what == "sub" and isinstance(instr.type, ir.Int):
        value = program.op("ineg", value)
    operation = _OF_FETCHES.get(what)
    if what in ("min", "max"):
        operation = f"{'u' if 'uint' in instr.callee.args[0] or is_unsigned(instr.callee.args[1]) else 'i'}{what}"
    if operation is None or (isinstance(instr.type, ir.Float) and operation != "xchg"):
        raise refuse(f"{instr.callee.name} of {instr.type}", instr)
    return (_modify(translation, instr, operation, value),)


def _exchange_through_pointer(translation: Translation, instr: ir.Instr, what: str) -> Values | None:
    """compare_exchange hands over what it expects by a pointer, to which it writes what it found; a flag is an integer."""
    program = translation.program
    if what.startswith("flag_test"):
        old = _modify(translation, instr, "xchg", program.constant(1, 32))
        return (program.op("ine", old, program.constant(0, 32)),)
    if what.startswith("flag"):
        store(translation, _find(translation, instr.operands[0], instr), [(0, ir.Int(32))], (program.constant(0, 32),), 4)
        return None
    kept, new = place_of(translation, instr.operands[1]), translation.scalar(instr.operands[2])
    leaves = [(0, ir.Int(program.bits(new)))]
    (expected,) = load(translation, kept, leaves, 4)
    old = _swap(translation, instr, expected, new)
    store(translation, kept, leaves, (old,), 4)
    return (program.op("ieq", old, expected),)


HANDLERS: dict[str, Handler] = {"atomicrmw": _read_modify_write, "cmpxchg": _compare_exchange}
"""By the name of the instruction."""
