"""The bytes of each buffer argument that a launch may read, and those that it may write: a range each that holds them all.

An access that is not proven in range, or that no affine form describes, counts as one to all of its argument; one through a
pointer that may lead to any object as one to all of every argument.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import ir
from ...ir.builtins import Effect, builtin_of
from ...ir.memory_ops import touches_memory
from ...ir.provenance import is_pointer
from ..abi.accessed_bytes import AccessedBytes, ByteRange
from .in_range import AccessAnalysis


def find_accessed_bytes(analysis: AccessAnalysis) -> dict[int, AccessedBytes]:
    """Returns what a launch accesses of each buffer argument, by position."""
    forms = analysis.forms
    whole = {p.index: (0, forms.buffer_bytes(p) or 0) for p in analysis.function.params if isinstance(p.type, ir.Pointer)}
    found = {index: AccessedBytes() for index in whole}
    for instr in (i for block in forms.dominators.order for i in block.instrs):
        if not touches_memory(instr) or not forms.may_execute(instr):
            continue
        for pointer, effect in _effects(instr):
            place = ("param", pointer.index) if isinstance(pointer, ir.Param) else analysis.object_of(pointer)
            if place is None:
                found = {index: known.joined(effect, whole[index]) for index, known in found.items()}
            elif place[0] == "param" and place[1] in found:
                assert isinstance(place[1], int)
                span = _range_of(analysis, instr, pointer) or whole[place[1]]
                found[place[1]] = found[place[1]].joined(effect, span)
    return found


def _range_of(analysis: AccessAnalysis, instr: ir.Instr, pointer: ir.Value) -> ByteRange | None:
    """Returns the bytes that `instr` accesses through `pointer`; None if they are not known."""
    if not analysis.is_in_range(instr):
        return None
    for span in analysis.spans(instr):
        if span is not None and span.pointer is pointer:
            low, high = analysis.forms.bounds_at(instr).range_of(span.offset)
            return low, high + span.size
    return None


def _effects(instr: ir.Instr) -> Iterator[tuple[ir.Value, Effect]]:
    """Yields the pointers through which an instruction accesses memory, with what it does there."""
    if instr.op == "load":
        yield instr.operands[0], "read"
    elif instr.op == "store":
        yield instr.operands[1], "write"
    elif instr.op in ("memcpy", "memmove", "memset"):
        yield instr.operands[0], "write"
        if instr.op != "memset":
            yield instr.operands[1], "read"
    elif instr.op in ("atomicrmw", "cmpxchg"):
        yield instr.operands[0], "read_write"
    else:
        for number, pointer in enumerate(v for v in instr.operands if is_pointer(v)):
            effect = builtin_of(instr).effect(number)
            if effect != "none":
                yield pointer, effect
