"""Whether the bytes that a kernel accesses depend on what memory holds, or on the launch alone."""

from __future__ import annotations

from . import ir
from .builtins import builtin_of
from .cfg import reachable_from
from .memory_ops import address_operands, is_plain_store, touches_memory
from .postdominators import PostDominators

_BRANCHES = ("condbr", "switch")


def accesses_depend_on_memory(function: ir.Function) -> bool:
    """Returns True if an address, or whether something is accessed at all, may depend on what was read from memory. False: two
    launches with equal sizes and equal arguments by value access the same bytes of their arguments."""
    return function.fact("accesses depend on memory", _depend)


def _depend(function: ir.Function) -> bool:
    instrs = [instr for block in function.blocks for instr in block.instrs]
    ends = PostDominators(function.blocks)
    tainted = {id(instr) for instr in instrs if _reads_memory(instr)}
    before = -1
    while len(tainted) != before:
        before = len(tainted)
        for instr in instrs:
            if any(id(operand) in tainted for operand in instr.operands):
                tainted.add(id(instr))
        for block in function.blocks:
            if block.instrs[-1].op in _BRANCHES and id(block.instrs[-1].operands[0]) in tainted:
                chosen = _chosen_values(block, ends)
                if chosen is None:
                    return True
                tainted |= chosen
    return any(touches_memory(instr) and _where(instr) & tainted for instr in instrs)


def _chosen_values(block: ir.Block, ends: PostDominators) -> set[int] | None:
    """The ids of phis whose value the branch at the end of `block` decides; None where it decides more: what is accessed."""
    join = ends.find_immediate(block)
    if join is None:
        return None
    inside = reachable_from(block, join)
    if any(touches_memory(instr) or builtin_of(instr).sync is not None for each in inside for instr in each.instrs):
        return None
    return {id(instr) for each in (*inside, join) for instr in each.instrs if instr.op == "phi"}


def _reads_memory(instr: ir.Instr) -> bool:
    return instr.op in ("load", "atomicrmw", "cmpxchg") or (instr.op == "call" and touches_memory(instr))


def _where(instr: ir.Instr) -> set[int]:
    """Returns the ids of the operands that say which bytes are accessed: all but the value that is written."""
    operands = instr.operands
    if instr.op in ("store", "atomicrmw", "cmpxchg") or builtin_of(instr).atomic:
        operands = address_operands(instr)
    elif builtin_of(instr).image == "write":
        operands = operands[:-1]
    elif is_plain_store(instr):
        operands = operands[1:]  # of vstore
    return set(map(id, operands))
