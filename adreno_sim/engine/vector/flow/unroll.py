"""Small loops that should be unrolled: private arrays that they index then become registers, and columns that they load."""

from __future__ import annotations

from ....ir import ir
from ....ir.memory_ops import is_plain_load
from ...analysis.loop_bounds import trip_count
from ..privates import Privates
from ..structure import Loop, Structure

_MOST_ROUNDS = 16
_MOST_LINES = 6000
"""Lines of all iterations together. Unrolling every small loop would multiply the compile time."""
_INNER_LABELS = ("turn", "store")
"""Labels of loops over lanes."""


def choose_rounds(loop: Loop, structure: Structure, privates: Privates, lines: list[str], walked: int) -> int:
    """Returns how many iterations of `loop`, which has these lines, LLVM should make one: 0 means all, 1 that it stays.

    walked: the iterations of a small loop for which a load fetches columns at once, which then are registers; 1 of others.

    A loop with another inside, or with several exits, stays: LLVM does not unroll it on request, and warns on standard error.
    """
    if structure.holds_loops(loop) or len(loop.leaving) != 1:
        return 1
    if any(line.startswith(_INNER_LABELS) and line.endswith(":") for line in lines):
        return 1
    rounds = trip_count(loop.head, loop.body)
    few = rounds is not None and rounds <= _MOST_ROUNDS and rounds * len(lines) <= _MOST_LINES
    return 0 if few and _indexes(loop, structure, privates) else walked


def _indexes(loop: Loop, structure: Structure, privates: Privates) -> bool:
    """Returns whether a loop indexes a private variable that is read."""
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
