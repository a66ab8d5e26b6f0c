"""Where arithmetic leaves what the language defines: conditions, as i1 (or a vector of i1 by lane), and their findings.

The results themselves are always defined here: by `arith` and `conversions`, which call this before they compute.
"""

from __future__ import annotations

from ...findings import Kind
from ...ir import ir, llvm_types
from ..analysis.shift_amounts import written_amount
from ..llvm import constants
from ..llvm.text import any_of
from .diagnostic_sites import DiagnosticSite
from .emitter import Emitter
from .half_arithmetic import extend, is_half

_FLAG = ir.Int(1)
_DIGITS = {32: 24, 64: 53}
"""Binary digits of a float, by its width."""


def emit_lane_report(e: Emitter, type: ir.Type, flags: str, kind: Kind) -> None:
    """A finding of `kind` where any lane of `flags` (i1 lanes like those of `type`) holds."""
    e.report_if(emit_any_lane(e, type, e.mask_inactive(type, flags)), DiagnosticSite(kind, e.loc))


def emit_any_lane(e: Emitter, type: ir.Type, flags: str) -> str:
    """An i1 that holds where any lane of `flags` (i1 lanes like those of `type`) does."""
    if not isinstance(type, ir.Vector):
        return flags
    return any_of(e.body, flags, type.count)


def emit_division_overflow(e: Emitter, type: ir.Type, left: str, right: str) -> str:
    """Lanes that divide the smallest signed number by -1."""
    spelled, flags = llvm_types.spell(type), llvm_types.spell(llvm_types.with_elem(type, _FLAG))
    least, minus = (constants.splat(type, str(n)) for n in (-(1 << (elem_bits(type) - 1)), -1))
    extreme = e.body.op(f"icmp eq {spelled} {left}, {least}")
    return e.body.op(f"and {flags} {extreme}, {e.body.op(f'icmp eq {spelled} {right}, {minus}')}")


def emit_shift_check(e: Emitter, shift: ir.Instr) -> None:
    """Note a shift whose amount, as the source has it, is not below the width. clang has masked it by then."""
    source = written_amount(shift)
    if not e.unit.checked or source is None:
        return
    width = elem_bits(shift.type)
    if elem_bits(source.type) > (width - 1).bit_length():
        spelled = llvm_types.spell(source.type)
        flags = e.body.op(f"icmp uge {spelled} {e.value(source)}, {constants.splat(source.type, str(width))}")
        emit_lane_report(e, source.type, flags, Kind.OVERWIDE_SHIFT)


def emit_conversion_check(e: Emitter, source: ir.Type, target: ir.Type, value: str, is_signed: bool) -> None:
    """Report a float, rounded already where it is, that lies outside the range of the integer `target`."""
    if not e.unit.checked:
        return
    if is_half(source):
        value, source = extend(e, source, value), llvm_types.with_elem(source, ir.Float(32))
    bits = elem_bits(target) - (1 if is_signed else 0)
    least, most = (-(1 << bits) if is_signed else 0), 1 << bits
    spelled, flags = llvm_types.spell(source), llvm_types.spell(llvm_types.with_elem(source, _FLAG))
    below = f"fcmp ule {spelled} {value}, {constants.number(source, float(least - 1))}"
    if is_signed and bits >= _DIGITS[elem_bits(source)]:  # the float before `least` is further than 1 away
        below = f"fcmp ult {spelled} {value}, {constants.number(source, float(least))}"
    above = e.body.op(f"fcmp uge {spelled} {value}, {constants.number(source, float(most))}")
    emit_lane_report(e, source, e.body.op(f"or {flags} {e.body.op(below)}, {above}"), Kind.UNDEFINED_CONVERSION)


def elem_bits(type: ir.Type) -> int:
    elem = llvm_types.elem_of(type)
    assert isinstance(elem, (ir.Int, ir.Float))
    return elem.bits
