"""Relational built-ins, and those that select."""

from __future__ import annotations

from ...ir import ir, llvm_types
from ...ir.llvm_types import elem_bits
from ..emit.builtin_registry import builtin
from ..emit.emitter import Emitter
from ..llvm.text import all_of, any_of
from .arith import splat_int
from .floats import emit_compare, emit_select

_RELATION = {
    "isequal": "oeq", "isnotequal": "une", "isgreater": "ogt", "isgreaterequal": "oge", "isless": "olt",
    "islessequal": "ole", "islessgreater": "one", "isordered": "ord", "isunordered": "uno",
}  # fmt: skip


def define_truth(e: Emitter, instr: ir.Instr, flags: str) -> None:
    """Binds a relational result, from i1 lanes: 1 for a scalar, all bits set for lanes of a vector."""
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
    define_truth(e, instr, emit_compare(e, _RELATION[instr.callee.name], a.type, e.value(a), e.value(b)))


_EXPONENT = {16: (0x7C00, 0x3FF), 32: (0x7F800000, 0x7FFFFF), 64: (0x7FF0000000000000, 0xFFFFFFFFFFFFF)}


@builtin("isnan", "isinf", "isfinite", "isnormal", "signbit")
def _classify(e: Emitter, instr: ir.Instr) -> None:
    """Tests the bit pattern, so that flushing of denormals does not change the result."""
    assert instr.callee is not None
    operand, t = instr.operands[0], e.body
    bits = elem_bits(operand.type)
    words = llvm_types.with_elem(operand.type, ir.Int(bits))
    spelled = llvm_types.spell(words)
    pattern = t.op(f"bitcast {e.typed_operand(operand)} to {spelled}")
    exponent, _ = _EXPONENT[bits]
    if instr.callee.name == "signbit":
        define_truth(e, instr, t.op(f"icmp slt {spelled} {pattern}, {splat_int(words, 0)}"))
        return
    size = t.op(f"and {spelled} {pattern}, {splat_int(words, (1 << (bits - 1)) - 1)}")
    if instr.callee.name == "isnormal":
        least = _EXPONENT[bits][1] + 1
        moved = t.op(f"sub {spelled} {size}, {splat_int(words, least)}")
        define_truth(e, instr, t.op(f"icmp ult {spelled} {moved}, {splat_int(words, exponent - least)}"))
        return
    predicate = {"isnan": "ugt", "isinf": "eq", "isfinite": "ult"}[instr.callee.name]
    define_truth(e, instr, t.op(f"icmp {predicate} {spelled} {size}, {splat_int(words, exponent)}"))


@builtin("any", "all")
def _any(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    operand, t = instr.operands[0], e.body
    flags = t.op(f"icmp slt {e.typed_operand(operand)}, {splat_int(operand.type, 0)}")
    if isinstance(operand.type, ir.Vector):
        flags = (all_of if instr.callee.name == "all" else any_of)(t, flags, operand.type.count)
    define_truth(e, instr, flags)


@builtin("bitselect")
def _bitselect(e: Emitter, instr: ir.Instr) -> None:
    words = llvm_types.with_elem(instr.type, ir.Int(elem_bits(instr.type)))
    spelled, t = llvm_types.spell(words), e.body
    a, b, mask = (t.op(f"bitcast {e.typed_operand(v)} to {spelled}") for v in instr.operands)
    differing = t.op(f"and {spelled} {t.op(f'xor {spelled} {a}, {b}')}, {mask}")
    e.define(instr, t.op(f"bitcast {spelled} {t.op(f'xor {spelled} {a}, {differing}')} to {llvm_types.spell(instr.type)}"))


@builtin("select")
def _select(e: Emitter, instr: ir.Instr) -> None:
    """Selects vectors by the top bit of each lane, scalars by zero or not."""
    a, b, by = instr.operands
    predicate = "slt" if isinstance(by.type, ir.Vector) else "ne"
    flags = e.body.op(f"icmp {predicate} {e.typed_operand(by)}, {llvm_types.zero(by.type)}")
    e.define(instr, emit_select(e, flags, instr.type, e.value(b), e.value(a)))
