"""Checks the invariants of `ir.py`, so that a defect of the front end is named here and not seen later as a wrong result."""

from __future__ import annotations

from .cfg import predecessors
from .dominators import Dominators
from .ir import TERMINATORS, Block, Const, Function, Global, Instr, Param, Value

_SUCCESSORS = {"br": 1, "condbr": 2, "ret": 0, "unreachable": 0}


class InvalidIR(AssertionError):
    """Kernel IR that breaks its invariants: a defect of this package, never of the user's source."""


def verify(function: Function) -> None:
    """Raises InvalidIR, with function and block, unless every invariant holds."""
    incoming = predecessors(function.blocks)
    defined: dict[Value, Block] = {}
    for block in function.blocks:
        _verify_shape(function, block)
        for instr in block.instrs:
            if instr in defined:
                raise _invalid(function, block, f"{instr.op} appears twice")
            defined[instr] = block
            if instr.op == "phi":
                _verify_phi(function, block, instr, incoming[block])
    _verify_uses(function, defined)


def _verify_shape(function: Function, block: Block) -> None:
    if not block.instrs or block.terminator.op not in TERMINATORS:
        raise _invalid(function, block, "no terminator")
    last = block.terminator
    if len(last.blocks) != _SUCCESSORS.get(last.op, len(last.cases) + 1):
        raise _invalid(function, block, f"{last.op} with {len(last.blocks)} targets")
    body = False
    for instr in block.instrs[:-1]:
        if instr.op in TERMINATORS:
            raise _invalid(function, block, f"{instr.op} before the end")
        if instr.op == "alloca" and block is not function.blocks[0]:
            raise _invalid(function, block, "alloca outside the entry block")
        if instr.op == "phi" and body:
            raise _invalid(function, block, "phi after another instruction")
        body = body or instr.op != "phi"


def _verify_phi(function: Function, block: Block, phi: Instr, sources: list[Block]) -> None:
    if len(phi.operands) != len(phi.blocks) or sorted(map(id, phi.blocks)) != sorted(map(id, sources)):
        raise _invalid(function, block, f"phi {phi.name} with {len(phi.blocks)} entries for {len(sources)} edges")


def _verify_uses(function: Function, defined: dict[Value, Block]) -> None:
    tree = Dominators(function)
    for block in function.blocks:
        seen: set[Value] = set()
        for instr in block.instrs:
            for index, operand in enumerate(instr.operands):
                if not isinstance(operand, Instr):
                    if not isinstance(operand, (Const, Param, Global)):
                        raise _invalid(function, block, f"operand {operand!r} of {instr.op}")
                elif operand not in defined:
                    raise _invalid(
                        function, block, f"{instr.op} uses {operand.op or 'undefined'} {operand.name}, which is nowhere"
                    )
                elif instr.op == "phi":
                    if not tree.dominates(defined[operand], instr.blocks[index]):
                        raise _invalid(function, block, f"phi arm {operand.name} does not reach the edge")
                elif operand not in seen and (defined[operand] is block or not tree.dominates(defined[operand], block)):
                    raise _invalid(function, block, f"{instr.op} uses {operand.op} {operand.name} before its definition")
            seen.add(instr)


def _invalid(function: Function, block: Block, what: str) -> InvalidIR:
    return InvalidIR(f"{function.name}, block {block.name}: {what}")
