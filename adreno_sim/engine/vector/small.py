"""Small loops that are better written out: then private arrays they step through become registers."""

from __future__ import annotations

from ...ir import ir
from ..analysis.loop_bounds import trip_count
from .privates import Privates
from .structure import Loop, Structure

_MOST_ROUNDS = 16
_MOST_LINES = 6000
"""Lines of all rounds together. Writing out every small loop would multiply the time that compiling takes."""
_INNER_LABELS = ("turn", "store")
"""Labels of loops over lanes."""


def should_unroll(loop: Loop, structure: Structure, privates: Privates, lines: list[str]) -> bool:
    """Whether `loop`, which takes these lines, has few rounds, steps through a private variable, and is of the form that LLVM
    writes out when it is told to: it holds no other loop and is left at one place (else LLVM warns on standard error)."""
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
    """The private variable in which an instruction computes an address from a number that is not constant."""
    constant = all(isinstance(index, ir.Const) for index in instr.operands[1:])
    return privates.variable(instr) if instr.op == "gep" and not constant else None


def _read_variables(structure: Structure, privates: Privates) -> set[int]:
    """Ids of the private variables that are read: LLVM drops the others, and a loop that fills one with it."""
    reads = [i for s in structure.order for i in s.instrs if i.op == "load" or (i.callee and i.callee.name.startswith("vload"))]
    return {id(privates.variable(i.operands[-1])) for i in reads}
