"""Checks of undefined arithmetic: conditions as i1, or as a vector of i1 per lane, and their findings.

The computed results are defined in any case: `arith` and `conversions` call these checks before they compute.
"""

from __future__ import annotations

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.llvm_types import elem_bits
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
    """Emits a finding of `kind` if any lane of `flags` (i1 lanes like those of `type`) is set whose result is used: a lane that
    is computed beside others and ignored may hold anything. So may one that is computed from what is undefined."""
    unused = e.unused_lanes(type)
    if len(unused) == llvm_types.lanes_of(type):
        return
    if unused and isinstance(type, ir.Vector):
        kept = ", ".join(f"i1 {'false' if lane in unused else 'true'}" for lane in range(type.count))
        flags = e.body.op(f"and <{type.count} x i1> {flags}, <{kept}>")
    undefined = e.hooks.undefined_flags(type)
    if undefined:
        spelled = llvm_types.spell(llvm_types.with_elem(type, _FLAG))
        defined = e.body.op(f"xor {spelled} {undefined}, {constants.splat(llvm_types.with_elem(type, _FLAG), 'true')}")
        flags = e.body.op(f"and {spelled} {flags}, {defined}")
    e.report_if(emit_any_lane(e, type, e.mask_inactive(type, flags)), DiagnosticSite(kind, e.loc))


def emit_any_lane(e: Emitter, type: ir.Type, flags: str) -> str:
    """Returns an i1 that is true if any lane of `flags` (i1 lanes like those of `type`) is."""
    if not isinstance(type, ir.Vector):
        return flags
    return any_of(e.body, flags, type.count)


def emit_division_overflow(e: Emitter, type: ir.Type, left: str, right: str) -> str:
    """Returns the lanes that divide the smallest signed number by -1."""
    spelled, flags = llvm_types.spell(type), llvm_types.spell(llvm_types.with_elem(type, _FLAG))
    least, minus = (constants.splat(type, str(n)) for n in (-(1 << (elem_bits(type) - 1)), -1))
    extreme = e.body.op(f"icmp eq {spelled} {left}, {least}")
    return e.body.op(f"and {flags} {extreme}, {e.body.op(f'icmp eq {spelled} {right}, {minus}')}")


def emit_shift_check(e: Emitter, shift: ir.Instr) -> None:
    """Emits a report of a shift whose amount in the source is not below the width. clang has masked the amount by then."""
    source = written_amount(shift)
    if not e.unit.checked or source is None:
        return
    width = elem_bits(shift.type)
    if elem_bits(source.type) > (width - 1).bit_length():
        spelled = llvm_types.spell(source.type)
        flags = e.body.op(f"icmp uge {spelled} {e.value(source)}, {constants.splat(source.type, str(width))}")
        emit_lane_report(e, source.type, flags, Kind.OVERWIDE_SHIFT)


def emit_conversion_check(e: Emitter, source: ir.Type, target: ir.Type, value: str, is_signed: bool) -> None:
    """Emits a report of a float, already rounded if need be, outside the range of the integer `target`."""
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
