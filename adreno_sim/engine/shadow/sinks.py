"""Where it matters that a value is undefined: branches, addresses, atomic operations, what work-items hand each other, printf.

A store is none of these: whoever reads what it leaves in memory is.
"""

from __future__ import annotations

from ...ir import ir
from ...ir.builtins import UNKNOWN, Builtin, builtin_of, is_printf
from ...ir.memory_ops import is_atomic, is_plain_load, is_plain_store, touches_memory
from ...ir.provenance import is_pointer

BRANCH, ADDRESS = "a branch depends on it", "an address depends on it"
ATOMIC, COMBINED = "an atomic operation takes it", "work-items combine it"
PRINTED, TAKEN = "printf prints it", "a function takes it"


def find_sinks(instr: ir.Instr) -> list[tuple[ir.Value, str]]:
    """Returns the operands that must be defined, each with a clause that says why."""
    if instr.op in ("condbr", "switch"):
        return [(instr.operands[0], BRANCH)]
    if instr.op == "select" and is_pointer(instr):
        return [(instr.operands[0], ADDRESS)]
    if is_atomic(instr):
        return [(value, ADDRESS if is_pointer(value) else ATOMIC) for value in instr.operands]
    if instr.op in ("memcpy", "memmove", "memset"):
        return [(instr.operands[0], ADDRESS), *((v, ADDRESS) for v in instr.operands[1:] if v is not _filling(instr))]
    if is_plain_load(instr):
        return [(value, ADDRESS) for value in instr.operands]
    if is_plain_store(instr):
        return [(value, ADDRESS) for value in instr.operands[1:]]
    return _of_call(instr) if instr.op == "call" else []


def _filling(instr: ir.Instr) -> ir.Value | None:
    """Returns the byte that a memset stores."""
    return instr.operands[1] if instr.op == "memset" else None


def _of_call(instr: ir.Instr) -> list[tuple[ir.Value, str]]:
    row = builtin_of(instr)
    if row.image:
        return [(value, ADDRESS) for value in (instr.operands[:-1] if row.image == "write" else instr.operands)]
    if row.sync is not None:
        return [(value, COMBINED) for position, value in enumerate(instr.operands) if position not in row.handed_over]
    if is_printf(instr):
        return [(value, PRINTED) for value in instr.operands]
    if row is UNKNOWN or (touches_memory(instr) and row.effect(0) == "none") or _copies(row):
        return [(value, ADDRESS if is_pointer(value) else TAKEN) for value in instr.operands]
    return [(value, ADDRESS) for value in instr.operands if is_pointer(value)]


def _copies(row: Builtin) -> bool:
    """Whether a function writes through a pointer what it reads through another; its other operands say how much."""
    return "read" in row.effects and "write" in row.effects
