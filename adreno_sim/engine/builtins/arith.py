"""Arithmetic, comparisons, casts and vector shuffles. Every result is defined: division by zero yields 0 and a finding, shift
amounts are taken modulo the width, conversions saturate, undefined lanes are lane 0."""

from __future__ import annotations

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.llvm_types import elem_bits
from ...ir.provenance import is_pointer
from ...ir.queries import may_leave_vector
from ...ir.unsupported import unsupported
from ..emit.access import emit_address_as_int
from ..emit.diagnostic_sites import DiagnosticSite
from ..emit.emitter import Emitter, instruction
from ..emit.half_arithmetic import emit_comparison, emit_exact, emit_operation, half_operand, is_half, keep_whole_constant
from ..emit.undefined_behaviour import emit_division_overflow, emit_lane_report, emit_shift_check
from ..llvm import constants


def splat_int(type: ir.Type, value: int) -> str:
    """Returns the integer constant `value` in every lane of `type`."""
    return constants.splat(type, str(value))


@instruction("add", "sub", "mul", "and", "or", "xor")
def _plain(e: Emitter, instr: ir.Instr) -> None:
    a, b = instr.operands
    flag = " nsw" if e.is_nsw(instr) else ""
    e.define(instr, e.body.op(f"{instr.op}{flag} {e.typed_operand(a)}, {e.value(b)}"))


@instruction("shl", "lshr", "ashr")
def _shift(e: Emitter, instr: ir.Instr) -> None:
    a, b = instr.operands
    bits = elem_bits(instr.type)
    spelled = llvm_types.spell(instr.type)
    emit_shift_check(e, instr)
    amount = e.value(b)
    if not (isinstance(b, ir.Const) and isinstance(b.value, int) and b.value < bits):
        amount = e.body.op(f"and {spelled} {amount}, {splat_int(instr.type, bits - 1)}")
    flag = " nsw" if e.is_nsw(instr) else ""
    e.define(instr, e.body.op(f"{instr.op}{flag} {e.typed_operand(a)}, {amount}"))


@instruction("udiv", "urem", "sdiv", "srem")
def _divide(e: Emitter, instr: ir.Instr) -> None:
    a, b = instr.operands
    left, right = e.value(a), e.value(b)
    e.define(instr, emit_division(e, instr.op, instr.type, left, right, b))


def emit_division(e: Emitter, op: str, type: ir.Type, left: str, right: str, source: ir.Value) -> str:
    """Emits a division that cannot trap. By zero it yields 0 and a finding; the smallest number by -1 yields itself,
    remainder 0."""
    t, spelled = e.body, llvm_types.spell(type)
    if _cannot_trap(source):
        return t.op(f"{op} {spelled} {left}, {right}")
    zero, one = splat_int(type, 0), splat_int(type, 1)
    flags = llvm_types.spell(llvm_types.with_elem(type, ir.Int(1)))
    by_zero = t.op(f"icmp eq {spelled} {right}, {zero}")
    unsafe = by_zero
    emit_lane_report(e, type, by_zero, Kind.DIVISION_BY_ZERO)
    if op[0] == "s":
        overflow = emit_division_overflow(e, type, left, right)
        unsafe = t.op(f"or {flags} {by_zero}, {overflow}")
        emit_lane_report(e, type, overflow, Kind.DIVISION_OVERFLOW)
    divisor = t.op(f"select {flags} {unsafe}, {spelled} {one}, {spelled} {right}")
    result = t.op(f"{op} {spelled} {left}, {divisor}")
    return t.op(f"select {flags} {by_zero}, {spelled} {zero}, {spelled} {result}")


def _cannot_trap(divisor: ir.Value) -> bool:
    if not isinstance(divisor, ir.Const):
        return False
    lanes = divisor.value if isinstance(divisor.value, tuple) else (divisor,)
    bits = elem_bits(divisor.type)
    all_ones = (1 << bits) - 1
    return all(isinstance(c.value, int) and c.value & all_ones not in (0, all_ones) for c in lanes)


@instruction("fadd", "fsub", "fmul", "fdiv")
def _float(e: Emitter, instr: ir.Instr) -> None:
    a, b = instr.operands
    if is_half(instr.type):
        for operand in (a, b):
            keep_whole_constant(e, operand)
        left, right = half_operand(e, a), half_operand(e, b)
        exact = emit_exact(e, instr.op, instr.type, left, right)
        e.define(instr, emit_operation(e, instr.op, instr.type, left, right) if exact is None else exact)
        return
    e.define(instr, e.body.op(f"{instr.op} {e.typed_operand(a)}, {e.value(b)}"))


@instruction("fneg")
def _negate(e: Emitter, instr: ir.Instr) -> None:
    operand = instr.operands[0]
    word = llvm_types.spell(llvm_types.with_elem(instr.type, ir.Int(elem_bits(instr.type))))
    spelled = llvm_types.spell(instr.type)
    if not is_half(instr.type):
        e.define(instr, e.body.op(f"fneg {spelled} {e.value(operand)}"))
        return
    pattern = e.body.op(f"bitcast {spelled} {e.value(operand)} to {word}")
    type = llvm_types.with_elem(instr.type, ir.Int(16))
    flipped = e.body.op(f"xor {word} {pattern}, {splat_int(type, 0x8000)}")
    e.define(instr, e.body.op(f"bitcast {word} {flipped} to {spelled}"))


@instruction("icmp")
def _icmp(e: Emitter, instr: ir.Instr) -> None:
    a, b = instr.operands
    if is_pointer(a) or is_pointer(b):
        left, right = emit_address_as_int(e, e.pointer(a)), emit_address_as_int(e, e.pointer(b))
        e.define(instr, e.body.op(f"icmp {instr.pred} i64 {left}, {right}"))
        return
    e.define(instr, e.body.op(f"icmp {instr.pred} {e.typed_operand(a)}, {e.value(b)}"))


@instruction("fcmp")
def _fcmp(e: Emitter, instr: ir.Instr) -> None:
    a, b = instr.operands
    if is_half(a.type):
        e.define(instr, emit_comparison(e, instr.pred, a.type, half_operand(e, a), half_operand(e, b)))
    else:
        e.define(instr, e.body.op(f"fcmp {instr.pred} {e.typed_operand(a)}, {e.value(b)}"))


@instruction("select")
def _select(e: Emitter, instr: ir.Instr) -> None:
    condition, a, b = instr.operands
    if not isinstance(instr.type, ir.Pointer):
        e.define(instr, e.body.op(f"select {e.typed_operand(condition)}, {e.typed_operand(a)}, {e.typed_operand(b)}"))
        return
    chosen = e.value(condition)
    pairs = zip(e.part_types(instr), e.parts(a, like=instr), e.parts(b, like=instr), strict=True)
    e.define_parts(instr, [e.body.op(f"select i1 {chosen}, {type} {x}, {type} {y}") for type, x, y in pairs])


@instruction("freeze", "bitcast", "addrspacecast")
def _cast(e: Emitter, instr: ir.Instr) -> None:
    source = instr.operands[0]
    if isinstance(instr.type, ir.Pointer):
        e.define_pointer(instr, e.pointer(source))
    elif instr.op == "freeze" or source.type == instr.type:
        e.define(instr, e.value(source))
    else:
        e.define(instr, e.body.op(f"bitcast {e.typed_operand(source)} to {llvm_types.spell(instr.type)}"))


@instruction("trunc", "zext", "sext")
def _resize(e: Emitter, instr: ir.Instr) -> None:
    e.define(instr, e.body.op(f"{instr.op} {e.typed_operand(instr.operands[0])} to {llvm_types.spell(instr.type)}"))


@instruction("extractelement")
def _extract(e: Emitter, instr: ir.Instr) -> None:
    vector = instr.operands[0]
    lane, inside = _lane(e, instr, Kind.OUT_OF_BOUNDS_READ, "reads none of its elements; 0 is taken")
    item = e.body.op(f"extractelement {e.typed_operand(vector)}, {lane}")
    if inside:
        spelled = llvm_types.spell(instr.type)
        item = e.body.op(f"select i1 {inside}, {spelled} {item}, {spelled} {llvm_types.zero(instr.type)}")
    e.define(instr, item)


@instruction("insertelement")
def _insert(e: Emitter, instr: ir.Instr) -> None:
    vector, value, _ = instr.operands
    lane, inside = _lane(e, instr, Kind.OUT_OF_BOUNDS_WRITE, "writes none of its elements")
    whole = e.body.op(f"insertelement {e.typed_operand(vector)}, {e.typed_operand(value)}, {lane}")
    if inside:
        whole = e.body.op(f"select i1 {inside}, {llvm_types.spell(instr.type)} {whole}, {e.typed_operand(vector)}")
    e.define(instr, whole)


def _lane(e: Emitter, instr: ir.Instr, kind: Kind, what: str) -> tuple[str, str]:
    """Emits the check that the index of an element is within its vector. Returns a lane number that is, and an i1 that tells
    whether it is the index; "" if it always is, or if nothing is checked."""
    index, count = instr.operands[-1], llvm_types.lanes_of(instr.operands[0].type)
    spelled = llvm_types.spell(index.type)
    if not may_leave_vector(instr) or e.unit.proves_in_range(e.current):
        return (f"{spelled} {e.value(index)}" if isinstance(index, ir.Instr | ir.Param) else f"i32 {_lane_number(index)}"), ""
    if not e.unit.checked:
        return f"{spelled} {e.body.op(f'urem {spelled} {e.value(index)}, {count}')}", ""
    inside = e.body.op(f"icmp ult {spelled} {e.value(index)}, {count}")
    wide = e.value(index) if elem_bits(index.type) == 64 else e.body.op(f"sext {spelled} {e.value(index)} to i64")
    text = f"index {{index}} of a vector of {count}: {what}"
    e.report_if(e.body.op(f"xor i1 {inside}, true"), DiagnosticSite(kind, e.loc, "index", text=text), wide)
    return f"{spelled} {e.body.op(f'select i1 {inside}, {spelled} {e.value(index)}, {spelled} 0')}", inside


def _lane_number(index: ir.Value) -> int:
    return index.value if isinstance(index, ir.Const) and isinstance(index.value, int) else 0


@instruction("shufflevector")
def _shuffle(e: Emitter, instr: ir.Instr) -> None:
    a, b = instr.operands
    mask = ", ".join(f"i32 {max(lane, 0)}" for lane in instr.mask)
    e.define(instr, e.body.op(f"shufflevector {e.typed_operand(a)}, {e.typed_operand(b)}, <{len(instr.mask)} x i32> <{mask}>"))


@instruction("extractvalue")
def _extract_value(e: Emitter, instr: ir.Instr) -> None:
    if isinstance(instr.type, ir.Pointer):
        raise unsupported("a pointer inside a struct value", instr.loc)
    path = ", ".join(map(str, instr.indices))
    e.define(instr, e.body.op(f"extractvalue {e.typed_operand(instr.operands[0])}, {path}"))


@instruction("insertvalue")
def _insert_value(e: Emitter, instr: ir.Instr) -> None:
    whole, value = instr.operands
    if is_pointer(value):
        raise unsupported("a pointer inside a struct value", instr.loc)
    path = ", ".join(map(str, instr.indices))
    e.define(instr, e.body.op(f"insertvalue {e.typed_operand(whole)}, {e.typed_operand(value)}, {path}"))
