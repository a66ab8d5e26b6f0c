"""Relational built-in functions, and the choosing ones."""

from __future__ import annotations

from ...ir import ir, llvm_types
from ..emit.builtin_registry import builtin
from ..emit.emitter import Emitter
from ..llvm.text import all_of, any_of
from .arith import ints
from .floats import bits_of, chosen, compared

_RELATION = {
    "isequal": "oeq", "isnotequal": "une", "isgreater": "ogt", "isgreaterequal": "oge", "isless": "olt",
    "islessequal": "ole", "islessgreater": "one", "isordered": "ord", "isunordered": "uno",
}  # fmt: skip


def truth(e: Emitter, instr: ir.Instr, flags: str) -> None:
    """Define a relational result from i1 lanes: 1 for a scalar, all bits set in the lanes of a vector."""
    type = instr.type
    word = "sext" if isinstance(type, ir.Vector) else "zext"
    lanes = llvm_types.spell(llvm_types.with_elem(type, ir.Int(1)))
    if isinstance(type, ir.Int) and type.bits == 1:
        e.define(instr, flags)
    else:
        e.define(instr, e.body.op(f"{word} {lanes} {flags} to {llvm_types.spell(type)}"))


@builtin(*_RELATION)
def _relation(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    a, b = instr.operands
    truth(e, instr, compared(e, _RELATION[instr.callee.name], a.type, e.value(a), e.value(b)))


_EXPONENT = {16: (0x7C00, 0x3FF), 32: (0x7F800000, 0x7FFFFF), 64: (0x7FF0000000000000, 0xFFFFFFFFFFFFF)}


@builtin("isnan", "isinf", "isfinite", "isnormal", "signbit")
def _classify(e: Emitter, instr: ir.Instr) -> None:
    """By the bit pattern: flushing of denormals must not change the answer."""
    assert instr.callee is not None
    operand, t = instr.operands[0], e.body
    bits = bits_of(operand.type)
    words = llvm_types.with_elem(operand.type, ir.Int(bits))
    spelled = llvm_types.spell(words)
    pattern = t.op(f"bitcast {e.typed_operand(operand)} to {spelled}")
    exponent, _ = _EXPONENT[bits]
    if instr.callee.name == "signbit":
        truth(e, instr, t.op(f"icmp slt {spelled} {pattern}, {ints(words, 0)}"))
        return
    size = t.op(f"and {spelled} {pattern}, {ints(words, (1 << (bits - 1)) - 1)}")
    if instr.callee.name == "isnormal":
        least = _EXPONENT[bits][1] + 1
        moved = t.op(f"sub {spelled} {size}, {ints(words, least)}")
        truth(e, instr, t.op(f"icmp ult {spelled} {moved}, {ints(words, exponent - least)}"))
        return
    predicate = {"isnan": "ugt", "isinf": "eq", "isfinite": "ult"}[instr.callee.name]
    truth(e, instr, t.op(f"icmp {predicate} {spelled} {size}, {ints(words, exponent)}"))


@builtin("any", "all")
def _any(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    operand, t = instr.operands[0], e.body
    flags = t.op(f"icmp slt {e.typed_operand(operand)}, {ints(operand.type, 0)}")
    if isinstance(operand.type, ir.Vector):
        flags = (all_of if instr.callee.name == "all" else any_of)(t, flags, operand.type.count)
    truth(e, instr, flags)


@builtin("bitselect")
def _bitselect(e: Emitter, instr: ir.Instr) -> None:
    words = llvm_types.with_elem(instr.type, ir.Int(bits_of(instr.type)))
    spelled, t = llvm_types.spell(words), e.body
    a, b, mask = (t.op(f"bitcast {e.typed_operand(v)} to {spelled}") for v in instr.operands)
    differing = t.op(f"and {spelled} {t.op(f'xor {spelled} {a}, {b}')}, {mask}")
    e.define(instr, t.op(f"bitcast {spelled} {t.op(f'xor {spelled} {a}, {differing}')} to {llvm_types.spell(instr.type)}"))


@builtin("select")
def _select(e: Emitter, instr: ir.Instr) -> None:
    """Vectors choose by each lane's top bit, scalars by zero or not."""
    a, b, by = instr.operands
    predicate = "slt" if isinstance(by.type, ir.Vector) else "ne"
    flags = e.body.op(f"icmp {predicate} {e.typed_operand(by)}, {llvm_types.zero(by.type)}")
    e.define(instr, chosen(e, flags, instr.type, e.value(b), e.value(a)))
