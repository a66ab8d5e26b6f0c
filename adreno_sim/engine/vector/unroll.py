"""Small loops that should be unrolled: private arrays that they index then become registers."""

from __future__ import annotations

from ...ir import ir
from ...ir.memory_ops import is_plain_load
from ..analysis.loop_bounds import trip_count
from .privates import Privates
from .structure import Loop, Structure

_MOST_ROUNDS = 16
_MOST_LINES = 6000
"""Lines of all iterations together. Unrolling every small loop would multiply the compile time."""
_INNER_LABELS = ("turn", "store")
"""Labels of loops over lanes."""


def should_unroll(loop: Loop, structure: Structure, privates: Privates, lines: list[str]) -> bool:
    """Returns whether `loop`, which has these lines, has few iterations, indexes a private variable that is read, and has the
    form that LLVM unrolls on request: no inner loop and a single exit. Otherwise LLVM would warn on standard error."""
    if any(other.parent is loop for other in structure.loops) or len(loop.leaving) != 1:
        return False
    rounds = trip_count(loop.head, loop.body)
    if rounds is None or rounds > _MOST_ROUNDS or rounds * len(lines) > _MOST_LINES:
        return False
    if any(line.startswith(_INNER_LABELS) and line.endswith(":") for line in lines):
        return False
    stepped = {
        id(variable) for segment in loop.body for i in segment.instrs if (variable := _indexed_variable(i, privates)) is not None
    }
    return bool(stepped) and not stepped.isdisjoint(_read_variables(structure, privates))


def _indexed_variable(instr: ir.Instr, privates: Privates) -> ir.Instr | None:
    """Returns the private variable that a gep indexes with a number that is not constant; else None."""
    constant = all(isinstance(index, ir.Const) for index in instr.operands[1:])
    return privates.variable(instr) if instr.op == "gep" and not constant else None


def _read_variables(structure: Structure, privates: Privates) -> set[int]:
    """Returns the ids of the private variables that are read. LLVM removes the others, and the loops that fill them."""
    reads = [i for s in structure.order for i in s.instrs if is_plain_load(i)]
    return {id(privates.variable(i.operands[-1])) for i in reads}
