"""Built-in functions that Adreno computes by many instructions: what a call costs, and where a kernel makes one."""

from __future__ import annotations

from ...device.group_sample import SlowCall
from ...ir import ir, llvm_types
from ...records import dataclass

_CLPEAK = "https://github.com/krrishnarraj/clpeak/issues/202"
_ASEN = "https://github.com/azhirnov/as-en, AE/docs/papers/bench/Adreno_660.md"


@dataclass(frozen=True)
class SlowBuiltin:
    """times: of a multiply-add, on floats and on halves. instead: what is cheaper. source: where it was measured."""

    floats: int
    halves: int
    instead: str
    source: str


SLOW = {
    "fma": SlowBuiltin(26, 6, "mad(), or a * b + c", _CLPEAK),
    "asin": SlowBuiltin(160, 150, "a polynomial, where its error will do", _ASEN),
    "atan": SlowBuiltin(120, 100, "a polynomial, where its error will do", _ASEN),
    "tan": SlowBuiltin(24, 15, "native_tan(), or native_sin() over native_cos()", _ASEN),
}
"""By name. fma has to round once, which the multiply-add of these devices does not: it is emulated."""


def count_slow(instr: ir.Instr) -> int:
    """Returns the multiply-adds that a call of one costs, for all elements; 0 for another instruction."""
    return _times(instr) * llvm_types.lanes_of(instr.type)


def list_slow_calls(function: ir.Function) -> tuple[SlowCall, ...]:
    """Returns the first call of each that a kernel makes, in order."""
    found: dict[tuple[str, int], SlowCall] = {}
    for block in function.blocks:
        for instr in block.instrs:
            if times := _times(instr):
                assert instr.callee is not None
                name, row = instr.callee.name, SLOW[instr.callee.name]
                call = SlowCall(name, times, row.instead, row.source, instr.loc.line, instr.loc.column)
                found.setdefault((name, times), call)
    return tuple(found.values())


def _times(instr: ir.Instr) -> int:
    slow = SLOW.get(instr.callee.name) if instr.op == "call" and instr.callee is not None else None
    elem = llvm_types.elem_of(instr.type)
    if slow is None or not isinstance(elem, ir.Float) or elem.bits > 32:
        return 0
    return slow.halves if elem.bits == 16 else slow.floats
