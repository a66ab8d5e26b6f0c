"""Functions of a ballot, a bit for each work-item of a sub-group (cl_khr_subgroup_ballot): masks, single bits, counts."""

from __future__ import annotations

from ...ir import ir, llvm_types
from ...ir.unsupported import unsupported
from ..emit.builtin_registry import builtin
from ..emit.emitter import Emitter
from ..emit.region import RegionEmitter

_BITS = 128
_MASKS = {"eq": "shl i128 1, {own}", "ge": "shl i128 -1, {own}", "gt": "shl i128 -2, {own}"}
"""Bits of the work-items with the own local id in the sub-group, and with others; le and lt are the rest of gt and ge."""


@builtin(*(f"get_sub_group_{which}_mask" for which in ("eq", "ge", "gt", "le", "lt")))
def _mask(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    own = _own_lane(e, instr)
    e.define(instr, e.body.op(f"bitcast i128 {_mask_of(e, instr.callee.name.split('_')[3], own)} to <4 x i32>"))


@builtin("sub_group_inverse_ballot")
def _inverse_ballot(e: Emitter, instr: ir.Instr) -> None:
    _define_bit(e, instr, _ballot(e, instr), _own_lane(e, instr))


@builtin("sub_group_ballot_bit_extract")
def _bit_extract(e: Emitter, instr: ir.Instr) -> None:
    index = e.body.op(f"zext i32 {e.value(instr.operands[1])} to i128")
    _define_bit(e, instr, _ballot(e, instr), e.body.op(f"and i128 {index}, {_BITS - 1}"))


@builtin("sub_group_ballot_bit_count")
def _bit_count(e: Emitter, instr: ir.Instr) -> None:
    _define_count(e, instr, _ballot(e, instr))


@builtin("sub_group_ballot_inclusive_scan", "sub_group_ballot_exclusive_scan")
def _scan(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    upto = _mask_of(e, "le" if "inclusive" in instr.callee.name else "lt", _own_lane(e, instr))
    _define_count(e, instr, e.body.op(f"and i128 {_ballot(e, instr)}, {upto}"))


@builtin("sub_group_ballot_find_lsb", "sub_group_ballot_find_msb")
def _find_bit(e: Emitter, instr: ir.Instr) -> None:
    """Emits the place of the first or last bit; of none, which OpenCL leaves undefined, it is the number of bits or all ones."""
    assert instr.callee is not None
    lowest = instr.callee.name.endswith("lsb")
    callee = e.unit.declare(f"llvm.{'cttz' if lowest else 'ctlz'}.i128", "i128", "i128, i1")
    place = e.body.op(f"call {callee}(i128 {_ballot(e, instr)}, i1 false)")
    if not lowest:
        place = e.body.op(f"sub i128 {_BITS - 1}, {place}")
    e.define(instr, e.body.op(f"trunc i128 {place} to i32"))


def _mask_of(e: Emitter, which: str, own: str) -> str:
    """Bits of the work-items whose local id in the sub-group compares so with the own."""
    below = {"le": "gt", "lt": "ge"}.get(which)
    mask = e.body.op(_MASKS[below or which].format(own=own))
    if below:
        mask = e.body.op(f"xor i128 {mask}, -1")
    return e.body.op(f"and i128 {mask}, {_all_lanes(e)}")


def _ballot(e: Emitter, instr: ir.Instr) -> str:
    """Operand 0 as one number, without bits that stand for no work-item."""
    bits = e.body.op(f"bitcast <4 x i32> {e.value(instr.operands[0])} to i128")
    return e.body.op(f"and i128 {bits}, {_all_lanes(e)}")


def _define_bit(e: Emitter, instr: ir.Instr, bits: str, place: str) -> None:
    bit = e.body.op(f"trunc i128 {e.body.op(f'lshr i128 {bits}, {place}')} to i1")
    e.define(instr, e.body.op(f"zext i1 {bit} to {llvm_types.spell(instr.type)}"))


def _define_count(e: Emitter, instr: ir.Instr, bits: str) -> None:
    callee = e.unit.declare("llvm.ctpop.i128", "i128", "i128")
    e.define(instr, e.body.op(f"trunc i128 {e.body.op(f'call {callee}(i128 {bits})')} to i32"))


def _own_lane(e: Emitter, instr: ir.Instr) -> str:
    if not isinstance(e, RegionEmitter):
        raise unsupported(f"{instr.callee.name if instr.callee else 'call'} here", instr.loc)
    if e.unit.spec.wave_size > _BITS:
        raise unsupported(f"a ballot of a sub-group of {e.unit.spec.wave_size} work-items: it has {_BITS} bits", instr.loc)
    own = e.body.op(f"urem i64 {e.item_ids.local_linear(e.body)}, {e.unit.spec.wave_size}")
    return e.body.op(f"zext i64 {own} to i128")


def _all_lanes(e: Emitter) -> int:
    return (1 << min(e.unit.spec.wave_size, _BITS)) - 1
