"""Integer built-in functions."""

from __future__ import annotations

from ...ir import ir, llvm_types
from ...ir.llvm_types import elem_bits
from ..emit.builtin_registry import builtin, builtin_family, emit_intrinsic, intrinsic_suffix, is_signed
from ..emit.emitter import Emitter
from .arith import splat_int


@builtin("abs")
def _abs(e: Emitter, instr: ir.Instr) -> None:
    operand = e.value(instr.operands[0])
    if not is_signed(instr):
        e.define(instr, operand)
        return
    spelled = llvm_types.spell(instr.type)
    negative = e.body.op(f"sub {spelled} {llvm_types.zero(instr.type)}, {operand}")
    e.define(instr, emit_intrinsic(e, "umin", instr.type, operand, negative))


@builtin("abs_diff")
def _abs_diff(e: Emitter, instr: ir.Instr) -> None:
    a, b = (e.value(v) for v in instr.operands)
    sign, spelled = ("s" if is_signed(instr) else "u"), llvm_types.spell(instr.type)
    high, low = emit_intrinsic(e, f"{sign}max", instr.type, a, b), emit_intrinsic(e, f"{sign}min", instr.type, a, b)
    e.define(instr, e.body.op(f"sub {spelled} {high}, {low}"))


@builtin("add_sat", "sub_sat")
def _saturating(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    name = ("s" if is_signed(instr) else "u") + instr.callee.name.replace("_", ".")
    e.define(instr, emit_intrinsic(e, name, instr.type, *(e.value(v) for v in instr.operands)))


@builtin_family(r"llvm\.([su](add|sub)\.sat|[su](min|max)|ctpop|bswap|bitreverse|fsh[lr])\..*")
def _pass_on(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    name = instr.callee.name.removeprefix("llvm.").rpartition(".")[0]
    e.define(instr, emit_intrinsic(e, name, instr.type, *(e.value(v) for v in instr.operands)))


@builtin_family(r"llvm\.(abs|ctlz|cttz)\..*")
def _count_without_poison(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    _count_bits(e, instr, instr.callee.name.split(".")[1])


def _count_bits(e: Emitter, instr: ir.Instr, name: str) -> None:
    spelled = llvm_types.spell(instr.type)
    callee = e.unit.declare(f"llvm.{name}.{intrinsic_suffix(instr.type)}", spelled, f"{spelled}, i1")
    e.define(instr, e.body.op(f"call {callee}({spelled} {e.value(instr.operands[0])}, i1 false)"))


@builtin("clz")
def _clz(e: Emitter, instr: ir.Instr) -> None:
    _count_bits(e, instr, "ctlz")


@builtin("ctz")
def _ctz(e: Emitter, instr: ir.Instr) -> None:
    _count_bits(e, instr, "cttz")


@builtin("popcount")
def _popcount(e: Emitter, instr: ir.Instr) -> None:
    e.define(instr, emit_intrinsic(e, "ctpop", instr.type, e.value(instr.operands[0])))


@builtin("rotate")
def _rotate(e: Emitter, instr: ir.Instr) -> None:
    value, amount = (e.value(v) for v in instr.operands)
    e.define(instr, emit_intrinsic(e, "fshl", instr.type, value, value, amount))


def _wide(e: Emitter, instr: ir.Instr, values: list[ir.Value]) -> tuple[str, list[str]]:
    """Returns the operands in twice the bits, extended by their sign, and the spelling of that type."""
    bits = elem_bits(instr.type)
    wide = llvm_types.spell(instr.type).replace(f"i{bits}", f"i{2 * bits}")
    word = "sext" if is_signed(instr) else "zext"
    return wide, [e.body.op(f"{word} {e.typed_operand(v)} to {wide}") for v in values]


def _constant_like(wide: str, value: int) -> str:
    if not wide.startswith("<"):
        return str(value)
    _, elem = wide[1:-1].split(" x ")
    return f"splat ({elem} {value})"


def _high_product(e: Emitter, instr: ir.Instr) -> str:
    wide, (a, b) = _wide(e, instr, instr.operands[:2])
    product = e.body.op(f"mul {wide} {a}, {b}")
    high = e.body.op(f"lshr {wide} {product}, {_constant_like(wide, elem_bits(instr.type))}")
    return e.body.op(f"trunc {wide} {high} to {llvm_types.spell(instr.type)}")


@builtin("mul_hi")
def _mul_hi(e: Emitter, instr: ir.Instr) -> None:
    e.define(instr, _high_product(e, instr))


@builtin("mad_hi")
def _mad_hi(e: Emitter, instr: ir.Instr) -> None:
    e.define(instr, e.body.op(f"add {llvm_types.spell(instr.type)} {_high_product(e, instr)}, {e.value(instr.operands[2])}"))


@builtin("mad_sat")
def _mad_sat(e: Emitter, instr: ir.Instr) -> None:
    bits, spelled, t = elem_bits(instr.type), llvm_types.spell(instr.type), e.body
    wide, (a, b, c) = _wide(e, instr, instr.operands)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(instr) else (0, (1 << bits) - 1)
    total = t.op(f"add {wide} {t.op(f'mul {wide} {a}, {b}')}, {c}")
    sign = "s" if is_signed(instr) else "u"
    if isinstance(instr.type, ir.Vector):
        lanes = f"v{instr.type.count}i{2 * bits}"
    else:
        lanes = f"i{2 * bits}"
    for name, bound in ((f"{sign}max", low), (f"{sign}min", high)):
        callee = e.unit.declare(f"llvm.{name}.{lanes}", wide, f"{wide}, {wide}")
        total = t.op(f"call {callee}({wide} {total}, {wide} {_constant_like(wide, bound)})")
    e.define(instr, t.op(f"trunc {wide} {total} to {spelled}"))


@builtin("hadd", "rhadd")
def _average(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    wide, (a, b) = _wide(e, instr, instr.operands)
    total = e.body.op(f"add {wide} {a}, {b}")
    if instr.callee.name == "rhadd":
        total = e.body.op(f"add {wide} {total}, {_constant_like(wide, 1)}")
    half = e.body.op(f"lshr {wide} {total}, {_constant_like(wide, 1)}")
    e.define(instr, e.body.op(f"trunc {wide} {half} to {llvm_types.spell(instr.type)}"))


@builtin("mul24", "mad24")
def _product24(e: Emitter, instr: ir.Instr) -> None:
    """Returns the product of the low 24 bits. Outside their range the result is implementation-defined."""
    assert instr.callee is not None
    spelled, t = llvm_types.spell(instr.type), e.body
    word = "ashr" if is_signed(instr) else "lshr"
    eight = splat_int(instr.type, 8)
    low = [t.op(f"{word} {spelled} {t.op(f'shl {spelled} {e.value(v)}, {eight}')}, {eight}") for v in instr.operands[:2]]
    product = t.op(f"mul {spelled} {low[0]}, {low[1]}")
    if instr.callee.name == "mad24":
        product = t.op(f"add {spelled} {product}, {e.value(instr.operands[2])}")
    e.define(instr, product)


@builtin("upsample")
def _upsample(e: Emitter, instr: ir.Instr) -> None:
    high, low = instr.operands
    spelled, t = llvm_types.spell(instr.type), e.body
    shift = splat_int(instr.type, elem_bits(high.type))
    top = t.op(f"shl {spelled} {t.op(f'zext {e.typed_operand(high)} to {spelled}')}, {shift}")
    e.define(instr, t.op(f"or {spelled} {top}, {t.op(f'zext {e.typed_operand(low)} to {spelled}')}"))
