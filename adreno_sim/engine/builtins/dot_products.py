"""Integer dot products of four bytes: cl_khr_integer_dot_product, and Qualcomm's cl_qcom_dot_product8.

Products and sums are exact; the _sat forms saturate once, at the end, as the extension says. qcom_dot8_acc multiplies
signed by unsigned bytes, qcom_udot8_acc unsigned by unsigned; public sources do not say what either does when the sum
leaves 32 bits, and here it wraps.
"""

from __future__ import annotations

from ...ir import ir, llvm_types
from ..emit.builtin_registry import builtin, builtin_family, emit_intrinsic
from ..emit.emitter import Emitter
from .library_calls import emit_library_call

_BYTES, _WORDS = ir.Vector(ir.Int(8), 4), ir.Vector(ir.Int(32), 4)
_LONG = ir.Int(64)
_SIGNS = {"uu": ("zext", "zext"), "ss": ("sext", "sext"), "us": ("zext", "sext"), "su": ("sext", "zext")}


@builtin("dot")
def _dot(e: Emitter, instr: ir.Instr) -> None:
    """Emits the dot product of integers. That of floats is in the library."""
    if isinstance(llvm_types.elem_of(instr.operands[0].type), ir.Float):
        emit_library_call(e, instr)
    else:
        e.define(instr, _product(e, instr, _words(instr)))


@builtin("dot_acc_sat")
def _dot_saturating(e: Emitter, instr: ir.Instr) -> None:
    _saturating(e, instr, _words(instr))


@builtin_family(r"dot_4x8packed_(uu_uint|(ss|us|su)_int)")
def _packed(e: Emitter, instr: ir.Instr) -> None:
    e.define(instr, _product(e, instr, _signs(instr)))


@builtin_family(r"dot_acc_sat_4x8packed_(uu_uint|(ss|us|su)_int)")
def _packed_saturating(e: Emitter, instr: ir.Instr) -> None:
    _saturating(e, instr, _signs(instr))


@builtin("qcom_dot8_acc", "qcom_udot8_acc")
def _qualcomm(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    product = _product(e, instr, _SIGNS["su" if instr.callee.name == "qcom_dot8_acc" else "uu"])
    e.define(instr, e.body.op(f"add i32 {product}, {e.value(instr.operands[2])}"))


def _words(instr: ir.Instr) -> tuple[str, str]:
    """Returns how the bytes of each operand are widened, by their source types."""
    assert instr.callee is not None
    first, second = ("zext" if spelled.startswith("u") else "sext" for spelled in instr.callee.args[:2])
    return first, second


def _signs(instr: ir.Instr) -> tuple[str, str]:
    """Returns the same for packed operands, by the two letters of the name."""
    assert instr.callee is not None
    return _SIGNS[instr.callee.name.split("_")[-2]]


def _product(e: Emitter, instr: ir.Instr, words: tuple[str, str]) -> str:
    """Returns the dot product as i32, which holds every sum of four products of bytes."""
    t, wide = e.body, llvm_types.spell(_WORDS)
    factors = []
    for operand, word in zip(instr.operands[:2], words, strict=True):
        four = e.value(operand)
        if operand.type != _BYTES:
            four = t.op(f"bitcast i32 {four} to {llvm_types.spell(_BYTES)}")
        factors.append(t.op(f"{word} {llvm_types.spell(_BYTES)} {four} to {wide}"))
    products = t.op(f"mul {wide} {factors[0]}, {factors[1]}")
    add = e.unit.declare("llvm.vector.reduce.add.v4i32", "i32", wide)
    return t.op(f"call {add}({wide} {products})")


def _saturating(e: Emitter, instr: ir.Instr, words: tuple[str, str]) -> None:
    t, both_unsigned = e.body, words == ("zext", "zext")
    word = "zext" if both_unsigned else "sext"
    product = t.op(f"{word} i32 {_product(e, instr, words)} to i64")
    total = t.op(f"add i64 {product}, {t.op(f'{word} i32 {e.value(instr.operands[2])} to i64')}")
    if both_unsigned:
        total = emit_intrinsic(e, "umin", _LONG, total, str((1 << 32) - 1))
    else:
        total = emit_intrinsic(e, "smax", _LONG, emit_intrinsic(e, "smin", _LONG, total, str((1 << 31) - 1)), str(-(1 << 31)))
    e.define(instr, t.op(f"trunc i64 {total} to i32"))
