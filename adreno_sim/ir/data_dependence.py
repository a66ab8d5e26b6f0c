"""Whether the bytes that a kernel accesses depend on what memory holds, or on the launch alone."""

from __future__ import annotations

from collections.abc import Callable, Collection

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


def accesses_depend_on_calls(function: ir.Function, names: Collection[str]) -> bool:
    """Returns True if an address, or whether something is accessed at all, may depend on what one of these built-ins returns,
    also by way of memory that holds it."""

    def is_asked(instr: ir.Instr) -> bool:
        return instr.op == "call" and instr.callee is not None and instr.callee.name in names

    tainted = _spread(function, is_asked)
    if tainted is None or _decides_access(function, tainted):
        return True
    stored = any(touches_memory(instr) and {*map(id, instr.operands)} & tainted for instr in _list_instrs(function))
    return stored and _depend(function)


def _depend(function: ir.Function) -> bool:
    tainted = _spread(function, _reads_memory)
    return tainted is None or _decides_access(function, tainted)


def _decides_access(function: ir.Function, tainted: set[int]) -> bool:
    return any(touches_memory(instr) and _where(instr) & tainted for instr in _list_instrs(function))


def _list_instrs(function: ir.Function) -> list[ir.Instr]:
    return [instr for block in function.blocks for instr in block.instrs]


def _spread(function: ir.Function, is_source: Callable[[ir.Instr], bool]) -> set[int] | None:
    """The ids of what may depend on sources; None if they decide what is accessed by a branch."""
    instrs = _list_instrs(function)
    ends = PostDominators(function.blocks)
    tainted = {id(instr) for instr in instrs if is_source(instr)}
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
                    return None
                tainted |= chosen
    return tainted


def _chosen_values(block: ir.Block, ends: PostDominators) -> set[int] | None:
    """The ids of phis whose value the branch at the end of `block` decides; None if it decides more: what is accessed."""
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
