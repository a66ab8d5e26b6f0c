"""Common subexpression elimination in each block. Generated code repeats the same index at every access.

Only instructions that can neither fault nor be reported at their own location are shared, so no finding is lost. No value is
shared across a barrier, where it would have to be spilled for every work-item, nor across blocks.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...ir.builtins import builtin_of
from ...ir.ir import Block, Const, Function, Instr, Int, Value

_SAME_TYPE = frozenset(("add", "sub", "mul", "and", "or", "xor", "icmp"))
"""Operations whose result type follows from their operands."""

_CASTS = frozenset(("trunc", "zext", "sext"))
_SHIFTS = frozenset(("shl", "lshr", "ashr"))


def eliminate_common_subexpressions(function: Function) -> None:
    """Replaces instructions of a block that compute the same by the first of them."""
    same: dict[Value, Value] = {}
    for block in function.blocks:
        _number_block(block, same)
    if same:
        for block in function.blocks:
            for instr in block.instrs:
                instr.operands = [same.get(value, value) for value in instr.operands]
        for block in function.blocks:
            block.instrs = [instr for instr in block.instrs if instr not in same]


def _number_block(block: Block, same: dict[Value, Value]) -> None:
    known: dict[Hashable, Instr] = {}
    for instr in block.instrs:
        name = _value_number(instr, same)
        if name is None:
            if builtin_of(instr).sync:
                known.clear()
        elif (first := known.setdefault(name, instr)) is not instr:
            same[instr] = first


def _value_number(instr: Instr, same: dict[Value, Value]) -> Hashable | None:
    """Returns the value number of an instruction, which others have only if they compute the same; None if it must not be
    shared."""
    op = instr.op
    if op in _SAME_TYPE:
        what: Hashable = instr.pred
    elif op in _CASTS:
        what = instr.type
    elif op == "gep" and _needs_no_index_check(instr):
        what = instr.elem
    elif op == "call" and _is_query(instr):
        what = instr.callee
    elif op in _SHIFTS and _is_shift_in_range(instr):
        what = None
    else:
        return None
    return (op, what, *[_operand(value, same) for value in instr.operands])


def _operand(value: Value, same: dict[Value, Value]) -> Hashable:
    if isinstance(value, Const):
        return (value.type.bits, value.value) if isinstance(value.type, Int) and isinstance(value.value, int) else value
    return same.get(value, value)


def _needs_no_index_check(gep: Instr) -> bool:
    """Returns whether no index of `gep` is checked against an array inside its object. Such a check reports at its own
    location."""
    pointer, first, *more = gep.operands
    if len(more) != 1:
        return not more
    whole = isinstance(pointer, Instr) and pointer.op == "alloca" and pointer.elem == gep.elem
    return whole and isinstance(first, Const) and first.value == 0


def _is_query(call: Instr) -> bool:
    """Returns whether a call returns an id or a size, or converts between integers."""
    row = builtin_of(call)
    if row.plain_conversion:
        return isinstance(call.type, Int) and isinstance(call.operands[0].type, Int)
    return row.query and isinstance(call.type, Int)


def _is_shift_in_range(shift: Instr) -> bool:
    """Returns whether the amount of a shift is a constant below the width."""
    amount = shift.operands[1]
    return (
        isinstance(shift.type, Int)
        and isinstance(amount, Const)
        and isinstance(amount.value, int)
        and amount.value < shift.type.bits
    )
