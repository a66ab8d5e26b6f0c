"""The number of a group along x in a coarse kernel, and what a kernel computes of it by constants.

A group of a launch in rows of `row` has the number x + row * n, where x is its place in the row, and n the number of the row. A
quotient by a multiple of `row` then depends on n alone, and a remainder is another number of that form.
"""

from __future__ import annotations

from math import gcd

from ...ir import ir
from ...ir.builtins import builtin_of
from ...records import dataclass


@dataclass(frozen=True)
class GroupNumber:
    """A value that is get_group_id(0), modulo each of `periods` in turn."""

    periods: tuple[int, ...] = ()


@dataclass(frozen=True)
class RowNumber:
    """A value that is a quotient of `number` by the constant `by`."""

    number: GroupNumber
    by: int


Known = GroupNumber | RowNumber


def find_group_numbers(kernel: ir.Function, most_groups: int) -> dict[int, Known]:
    """Returns the integers of a kernel that are a group's number along x, a remainder of it or a quotient of that, by their ids.
    most_groups: along x in any launch."""
    found: dict[int, Known] = {}
    for block in kernel.blocks:
        for instr in block.instrs:
            known = _transfer(instr, found, most_groups)
            if known is not None:
                found[id(instr)] = known
    return found


def find_rows(known: dict[int, Known], groups: int) -> tuple[int, int]:
    """Returns the groups of a row and of a plane, of `groups` along x: the longest row that divides all divisors of these
    values, and the largest of these divisors that fits all others; 0 where there is none."""
    divisors: set[int] = set()
    for value in known.values():
        divisors.update(value.periods if isinstance(value, GroupNumber) else (*value.number.periods, value.by))
    row = gcd(groups, *divisors) if divisors else 0
    fitting = (one for one in divisors if groups % one == 0 and all(max(one, by) % min(one, by) == 0 for by in divisors))
    return row, max(fitting, default=0) if row else 0


def _transfer(instr: ir.Instr, found: dict[int, Known], most_groups: int) -> Known | None:
    if not isinstance(instr.type, ir.Int) or not instr.operands:
        return None
    first = instr.operands[0]
    if instr.callee is not None and instr.callee.name == "get_group_id":
        return GroupNumber() if isinstance(first, ir.Const) and first.value == 0 else None
    number = found.get(id(first))
    if not isinstance(number, GroupNumber):
        return None
    if instr.op in ("trunc", "zext", "sext", "freeze") or builtin_of(instr).plain_conversion:
        return number if most_groups <= 1 << (instr.type.bits - 1) else None  # no bit is lost, and none is a sign
    divisor = divisor_of(instr)
    if divisor is None:
        return None
    return RowNumber(number, divisor) if instr.op in ("udiv", "sdiv", "lshr", "ashr") else GroupNumber((*number.periods, divisor))


def divisor_of(instr: ir.Instr) -> int | None:
    """Returns the positive constant by which `instr` divides its first operand, or takes the remainder of it."""
    if len(instr.operands) != 2 or not isinstance(instr.type, ir.Int):
        return None
    by = instr.operands[1]
    if not isinstance(by, ir.Const) or not isinstance(by.value, int):
        return None
    value, bits = by.value, instr.type.bits
    if instr.op in ("udiv", "sdiv", "urem", "srem"):
        return value if 0 < value < 1 << (bits - 1) else None
    if instr.op in ("lshr", "ashr"):
        return 1 << value if value < bits - 1 else None
    return value + 1 if instr.op == "and" and value & (value + 1) == 0 and value < (1 << (bits - 1)) - 1 else None
