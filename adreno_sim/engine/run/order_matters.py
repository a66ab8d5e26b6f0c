"""Whether a launch below level full may rightly give several results: what its code says of that, and race cells for its
arguments, with which code of level full finds races that the orders it ran in do not show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...ir import ir
from ...ir.builtins import is_printf
from ...ir.memory_ops import is_atomic
from ...ir.provenance import is_pointer
from ..abi.bound import Bound, BoundBuffer, BoundImage
from ..abi.specialization import BufferArg, ImageArg, Specialization, with_shadow
from ..shadow.argument_cells import cells_of_block, may_change
from .aligned_memory import zeroed_aligned
from .memory_copies import range_of

_SUMS = frozenset(("add", "sub", "inc", "dec"))
_IN_ANY_ORDER = _SUMS | {"and", "or", "xor", "min", "max", "umin", "umax"}
"""Atomics on integers whose order does not matter among those that do the same."""


def shows_addresses(kernel: ir.Function) -> bool:
    """Returns whether a kernel computes with addresses as numbers, or prints them: those of private memory are a code's own."""
    instrs = [instr for block in kernel.blocks for instr in block.instrs]
    printed = (v for i in instrs if is_printf(i) for v in i.operands[1:])
    return any(i.op == "ptrtoint" for i in instrs) or any(map(is_pointer, printed))


def shows_order(kernel: ir.Function) -> bool:
    """Returns whether atomics may show work-items which of them was first: that is not a race, and each order is right. They do
    not where all of a kernel's do one thing that may be done in any order, and nothing uses what they find.
    """
    instrs = [instr for block in kernel.blocks for instr in block.instrs]
    atomics = [instr for instr in instrs if is_atomic(instr)]
    if not atomics:
        return False
    used = {id(value) for instr in instrs for value in instr.operands}
    operations = set(map(_find_operation, atomics))
    return len(operations) > 1 or None in operations or any(id(instr) in used for instr in atomics)


def _find_operation(instr: ir.Instr) -> tuple[str, str] | None:
    """Returns what an atomic does, and to which type; None if the order matters, as to floats, whose sums are rounded."""
    if any(isinstance(ir.type_of(value), ir.Float) for value in instr.operands):
        return None
    if instr.op == "call":
        assert instr.callee is not None
        called = re.fullmatch(r"atom(?:ic)?_(?:fetch_)?([a-z]+)(?:_explicit)?", instr.callee.name)
        integer = re.search(r"u?(?:int|long)\b", instr.callee.args[0])
        name, type = called[1] if called else "", integer[0] if integer else ""
    else:
        name, type = instr.pred if instr.op == "atomicrmw" else "", ""
    if name in _SUMS:
        return "sum", ""
    return (name, type) if name in _IN_ANY_ORDER else None


def add_race_cells(
    kernel: ir.Function, spec: Specialization, args: Sequence[Bound], most: int
) -> tuple[Specialization, list[Bound], list[np.ndarray]] | None:
    """Returns a specialization of level full and arguments that have race cells, with the memory in which those lie; None if
    that would take more than `most` bytes. Each argument has separate memory, and all of it counts as written."""
    specs, bound, owners = list(spec.args), list(args), []
    for index, arg in enumerate(args):
        if not isinstance(arg, (BoundBuffer, BoundImage)) or not may_change(kernel, index):
            continue
        assert isinstance(spec.args[index], (BufferArg, ImageArg))
        shadow = cells_of_block(kernel, spec.args, [index])
        _, nbytes = range_of(arg)
        room = -(-nbytes // shadow.granularity) * shadow.cell_words * 8
        most -= nbytes + room
        if most < 0:
            return None
        (valid, valid_at), (cells, cells_at) = zeroed_aligned(nbytes), zeroed_aligned(room)
        valid[:] = 1
        owners += [valid, cells]
        specs[index] = with_shadow(specs[index], shadow)
        bound[index] = replace(arg, valid=valid_at, cells=cells_at)
    return replace(spec, args=tuple(specs), checks="full"), bound, owners
