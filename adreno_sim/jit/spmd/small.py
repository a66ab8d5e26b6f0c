"""Small loops that are better written out: then private arrays they step through become registers."""

from __future__ import annotations

from ...clc import ir
from ..loops import trip_count
from .privates import Privates
from .structure import Loop, Structure

_MOST_ROUNDS = 16
_MOST_INSTRS = 1500
"""Instructions of all rounds together. Writing out every small loop would multiply the time that compiling takes."""


def unrolls(loop: Loop, structure: Structure, privates: Privates) -> bool:
    """Whether `loop` holds no other, has few rounds, and steps through a private variable."""
    if any(other.parent is loop for other in structure.loops):
        return False
    rounds = trip_count(loop.head, loop.body)
    if rounds is None or rounds > _MOST_ROUNDS:
        return False
    instrs = [i for segment in loop.body for i in segment.instrs]
    return rounds * len(instrs) <= _MOST_INSTRS and any(_steps(i, privates) for i in instrs)


def _steps(instr: ir.Instr, privates: Privates) -> bool:
    """Whether an instruction computes an address in a private variable from a number that is not constant."""
    if instr.op != "gep" or not privates.is_private(instr):
        return False
    return not all(isinstance(index, ir.Const) for index in instr.operands[1:])
