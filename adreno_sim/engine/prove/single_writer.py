"""Proves which arguments have one writer work-item for each byte and no dead store.

Writes of different work-items are disjoint (`disjoint`), and each byte is written once, or each further write is by the same
work-item after it read what it replaces. Such arguments need no check of races or dead stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.cfg import reachable_from
from ...ir.loops import natural_loops
from ...ir.memory_ops import address_operands, is_plain_load, is_plain_store, touches_memory
from ...records import dataclass
from ..analysis.affine import AffineForms
from ..analysis.linear import Linear
from .disjoint import AccessRange, injective_symbols
from .in_range import AccessAnalysis

_COORDINATE = 1 << 40  # weight of a coordinate over the one before it: beyond any extent


class Conflict(NamedTuple):
    """Why work-items are not proven to keep apart: the access at which the proof failed, and another that it may meet."""

    why: str
    access: ir.Instr | None = None
    other: ir.Instr | None = None


@dataclass
class ArgumentAccesses:
    """The accesses to one argument in block order. `other`: one that is not a plain write or read, or is not proven in range."""

    writes: list[AccessRange] = field(default_factory=list)
    reads: list[AccessRange] = field(default_factory=list)
    other: ir.Instr | None = None


def single_writer_args(analysis: AccessAnalysis) -> frozenset[int]:
    """Returns the positions of arguments in which the launch has no race and no dead store.

    Each argument is judged alone: one that shares memory with another argument may be in the result.
    """
    return frozenset(param.index for param, conflict in find_conflicts(analysis) if conflict is None)


def find_conflicts(analysis: AccessAnalysis) -> Iterator[tuple[ir.Param, Conflict | None]]:
    """Yields each argument with why it may have several writers of a byte or a dead store; None if it is proven to have
    neither."""
    accesses = accesses_by_argument(analysis)
    for param in analysis.function.params:
        if isinstance(accesses, ir.Instr):
            yield param, Conflict("the pointer may lead to any object", accesses)
        else:
            yield param, _conflict_of(analysis.forms, accesses.get(param.index, ArgumentAccesses()))


def accesses_by_argument(analysis: AccessAnalysis) -> dict[int, ArgumentAccesses] | ir.Instr:
    """Returns the accesses to each argument, or the first access through a pointer that may lead to any object."""
    accesses: dict[int, ArgumentAccesses] = {}
    instrs = (i for block in analysis.forms.dominators.order for i in block.instrs)
    for instr in (i for i in instrs if touches_memory(i) and analysis.forms.may_execute(i)):
        write, read = write_of(instr, analysis), read_of(instr, analysis)
        for target in address_operands(instr):
            place = ("param", target.index) if isinstance(target, ir.Param) else analysis.object_of(target)
            if place is None:
                return instr
            kind, index = place
            if kind != "param":
                continue
            assert isinstance(index, int)
            known = accesses.setdefault(index, ArgumentAccesses())
            known.other = instr if known.other is None and write is None and read is None else known.other
            known.writes += [write] if write is not None else []
            known.reads += [read] if read is not None else []
    return accesses


def write_of(instr: ir.Instr, analysis: AccessAnalysis) -> AccessRange | None:
    """Returns the range of a plain write that is proven in range, or None."""
    if not analysis.is_in_range(instr):
        return None
    if image := builtin_of(instr).image:
        return _texel_range(instr, analysis) if image == "write" else None
    spans = list(analysis.spans(instr)) if is_plain_store(instr) else []
    if len(spans) != 1 or spans[0] is None:
        return None
    return AccessRange(instr, spans[0].offset, spans[0].size)


def _texel_range(instr: ir.Instr, analysis: AccessAnalysis) -> AccessRange | None:
    """Returns a texel write with its coordinates as one number. Each is below `_COORDINATE`, so different texels have
    different numbers."""
    image, where = instr.operands[0], instr.operands[1]
    if not isinstance(image, ir.Param):
        return None
    number = Linear.number(0)
    for lane in range(len(analysis.forms.extents(image))):
        number = number.plus(analysis.forms.of(where, lane), _COORDINATE**lane)
    return AccessRange(instr, number, 1)


def read_of(instr: ir.Instr, analysis: AccessAnalysis) -> AccessRange | None:
    """Returns the range of a plain buffer read that is proven in range, or None."""
    spans = list(analysis.spans(instr)) if is_plain_load(instr) and analysis.is_in_range(instr) else []
    return AccessRange(instr, spans[0].offset, spans[0].size) if len(spans) == 1 and spans[0] is not None else None


def _conflict_of(forms: AffineForms, accesses: ArgumentAccesses) -> Conflict | None:
    writes, reads = accesses.writes, accesses.reads
    if accesses.other is not None:
        return Conflict("not proven in range, or no plain load or store", accesses.other)
    for read in reads:
        if not any(_same_range(read, write) for write in writes):
            return Conflict("reads other bytes than one write of the same work-item", read.instr)
    ids = [number for axis in range(3) for number in (forms.local_id(axis), forms.group_id(axis))]
    determined = injective_symbols(forms, writes, ids, [read.instr for read in reads])
    if determined is None:
        return Conflict("different work-items may write the same bytes", writes[0].instr)
    for write in writes:
        if not _replaces_only_read_bytes(forms, write, accesses, determined):
            return Conflict("may write a byte twice without a read in between", write.instr)
    return None


def _same_range(a: AccessRange, b: AccessRange) -> bool:
    return a.offset.same(b.offset) and a.size == b.size


def _replaces_only_read_bytes(
    forms: AffineForms, write: AccessRange, accesses: ArgumentAccesses, determined: frozenset[int]
) -> bool:
    """Returns True if a write is not a dead-store hazard: it comes after a read of the same bytes, or it executes once per byte
    and follows no other write of them."""
    block = forms.block_of[id(write.instr)]
    position = {id(instr): n for n, instr in enumerate(block.instrs)}
    here = position[id(write.instr)]
    others = [other for other in accesses.writes if other is not write and _same_range(other, write)]
    since = max((n for o in others if (n := position.get(id(o.instr), here)) < here), default=-1)
    if any(since < position.get(id(read.instr), -1) < here and _same_range(read, write) for read in accesses.reads):
        return True
    return _determines_iterations(forms, write, determined) and not any(_may_follow(forms, write, other) for other in others)


def _may_follow(forms: AffineForms, write: AccessRange, other: AccessRange) -> bool:
    """Returns True if a path leads from `other` to `write`."""
    here, there = forms.block_of[id(write.instr)], forms.block_of[id(other.instr)]
    if here is there and here.instrs.index(other.instr) < here.instrs.index(write.instr):
        return True
    return here in reachable_from(there)


def _determines_iterations(forms: AffineForms, write: AccessRange, determined: frozenset[int]) -> bool:
    """Returns True if the `determined` symbols fix the iterations of all loops around a write."""
    loops = _loops_around(forms, forms.block_of[id(write.instr)])
    counted = {id(forms.iterations[symbol]) for symbol in determined if symbol in forms.iterations}
    return loops is not None and loops <= counted


def _loops_around(forms: AffineForms, block: ir.Block) -> set[int] | None:
    """Returns the ids of the headers of all loops around `block`, or None if control flow is irreducible."""
    loops = natural_loops(forms.dominators)
    return None if loops is None else {id(head) for head, body in loops.items() if block in body}
