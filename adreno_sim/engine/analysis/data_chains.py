"""The arithmetic on floats and the reads of memory that wait for one another, and the values that a work-item needs at once: what
hides no latency, and what fills registers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from .budget import Budget, OverBudget

_SUMS = frozenset(("fadd", "fsub"))
_ARITHMETIC = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem", "fneg"))


WIDEST = 4
"""Elements that a device reads from memory at once (docs/machine-code.md)."""


def count_fetches(instr: ir.Instr) -> int:
    """Returns how many reads of global memory or an image an instruction is to a device."""
    if instr.op == "load":
        far = _is_far(instr.operands[0])
    else:
        row = builtin_of(instr)
        far = row.image == "read" or (row.vector is not None and not row.vector.stores and any(map(_is_far, instr.operands)))
    return -(-llvm_types.lanes_of(instr.type) // WIDEST) if far else 0


def _is_far(value: ir.Value) -> bool:
    return isinstance(value.type, ir.Pointer) and value.type.space in (ir.GLOBAL, ir.CONSTANT)


def find_fused(instrs: Sequence[ir.Instr]) -> set[int]:
    """The ids of products that only one sum of these instructions takes, one for each sum: a device fuses the two."""
    uses = Counter(id(operand) for instr in instrs for operand in instr.operands)
    products = {id(instr) for instr in instrs if instr.op == "fmul" and uses[id(instr)] == 1}
    sums = [instr for instr in instrs if instr.op in _SUMS]
    return {next((id(operand) for operand in instr.operands if id(operand) in products), 0) for instr in sums}


def computes_floats(instr: ir.Instr) -> bool:
    """Whether an instruction is an operation on floats."""
    if not isinstance(llvm_types.elem_of(instr.type), ir.Float):
        return False
    if instr.op == "call":
        row = builtin_of(instr)
        return bool(row.elementwise)
    return instr.op in _ARITHMETIC


def count_live_bytes(function: ir.Function) -> int:
    """Returns the bytes of values on floats that are needed at once, where most are: each from its definition to its last use. In
    a kernel with too many values and blocks, those of each block alone."""
    return function.fact("live bytes", _count_live_bytes)


def _count_live_bytes(function: ir.Function) -> int:
    try:
        after = _live_after(function, Budget.of("live values", function, 1 << 16, 64))
    except OverBudget:
        after = {}
    return max(_most_bytes(block, after.get(id(block), {})) for block in function.blocks)


Live = dict[int, int]
"""Bytes of each value, by its id."""


def _most_bytes(block: ir.Block, after: Live) -> int:
    live, total = dict(after), sum(after.values())
    most = total
    for instr in reversed(block.instrs):
        total -= live.pop(id(instr), 0)
        for operand in [] if instr.op == "phi" else instr.operands:
            if id(operand) not in live and (size := _float_bytes(operand)):
                live[id(operand)] = size
                total += size
        most = max(most, total)
    return most


def _live_after(function: ir.Function, budget: Budget) -> dict[int, Live]:
    """The values on floats that are needed behind the end of each block. Raises OverBudget."""
    before: dict[int, Live] = {id(block): {} for block in function.blocks}
    after: dict[int, Live] = {id(block): {} for block in function.blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(function.blocks):
            live: Live = {}
            for successor in block.successors:
                live |= before[id(successor)]
                live |= {id(value): size for value in _taken_from(block, successor) if (size := _float_bytes(value))}
            budget.spend(len(live) + len(block.instrs))
            if len(live) == len(after[id(block)]) and before[id(block)]:
                continue
            after[id(block)] = dict(live)
            for instr in reversed(block.instrs):
                live.pop(id(instr), None)
                if instr.op != "phi":
                    live |= {id(operand): size for operand in instr.operands if (size := _float_bytes(operand))}
            changed |= len(live) != len(before[id(block)])
            before[id(block)] = live
    return after


def _taken_from(block: ir.Block, successor: ir.Block) -> list[ir.Value]:
    """The values that phis of a block take where control comes from `block`."""
    phis = itertools.takewhile(lambda instr: instr.op == "phi", successor.instrs)
    return [value for phi in phis for value, source in zip(phi.operands, phi.blocks, strict=True) if source is block]


def _float_bytes(value: ir.Value) -> int:
    """Returns the bytes of a value that is computed, and made of floats; else 0."""
    if not isinstance(value, ir.Instr):
        return 0
    elem = llvm_types.elem_of(value.type)
    return llvm_types.lanes_of(value.type) * elem.bits // 8 if isinstance(elem, ir.Float) else 0
