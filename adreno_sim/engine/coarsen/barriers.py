"""Barriers that order nothing: what comes before and what comes after meet in no memory.

A schedule mostly puts one before it hands over the first sum of each work-item, which until then was in private memory. Without
it that sum stays in a register. A barrier that not all work-items reach, or that is in a loop, stays: it is judged where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.memory_ops import address_operands, is_plain_load, touches_memory
from ...ir.mod_ref import written_arguments
from ...ir.postdominators import PostDominators
from ...ir.provenance import Provenance
from ...records import dataclass
from ..analysis.segments import Graph, Segment
from ..emit.sync_points import Scopes

ANY = "any object"


@dataclass
class _Accesses:
    """The objects that work-items share, which some code reads, and which it writes. ANY stands for all."""

    read: set[object] = field(default_factory=set)
    written: set[object] = field(default_factory=set)

    def meet(self, others: _Accesses) -> bool:
        """Returns whether one may write what the other accesses."""
        mine, theirs = self.read | self.written, others.read | others.written
        if ANY in mine | theirs and mine and theirs:
            return True
        return bool(self.written & (others.read | others.written) or self.read & others.written)


def find_needless_barriers(kernel: ir.Function) -> set[int]:
    """Returns the barriers that order nothing, by the ids of their calls."""
    graph = Graph(kernel, Scopes())
    before: dict[Segment, list[Segment]] = {segment: [] for segment in graph.segments}
    for segment in graph.segments:
        for successor in after(segment):
            before[successor].append(segment)
    accesses_of, always = _accesses_of(kernel), _always_passed(kernel)
    needless: set[int] = set()

    def is_open(segment: Segment) -> bool:
        return segment.sync is None or id(segment.sync.instr) in needless

    for segment in graph.segments:
        if segment.sync is None or segment.sync.resume is None or id(segment.sync.instr) not in always:
            continue
        resume = segment.sync.resume
        earlier = reach(segment, lambda s: [other for other in before[s] if is_open(other)])
        later = reach(resume, lambda s: after(s) if is_open(s) else [])
        if segment not in reach(resume, after) and not accesses_of(earlier).meet(accesses_of(later)):
            needless.add(id(segment.sync.instr))
    return needless


def after(segment: Segment) -> list[Segment]:
    """Returns the segments that may follow one, also behind a barrier."""
    return [segment.sync.resume] if segment.sync and segment.sync.resume else segment.successors


def _always_passed(kernel: ir.Function) -> set[int]:
    """Returns the ids of the instructions that are on every path through a kernel."""
    ends, entry = PostDominators(kernel.blocks), kernel.blocks[0]
    always = [block for block in kernel.blocks if ends.all_end and ends.post_dominates(block, entry)]
    return {id(instr) for block in always for instr in block.instrs}


def reach(first: Segment, following: Callable[[Segment], Iterable[Segment]]) -> dict[Segment, None]:
    """Returns the segments to which `following` leads from `first` on, which is the first of them, in the order of a walk."""
    found, pending = dict[Segment, None](), [first]
    while pending:
        segment = pending.pop()
        if segment not in found:
            found[segment] = None
            pending += following(segment)
    return found


def _accesses_of(kernel: ir.Function) -> Callable[[Iterable[Segment]], _Accesses]:
    """Returns what finds the accesses of segments to shared memory. Arguments that the kernel writes may share their memory; the
    others have no writer."""
    provenance, written = Provenance(kernel), written_arguments(kernel)

    def shared_object(value: ir.Value) -> object:
        found = provenance.object_id(value)
        if found is None:
            return ANY
        kind, which = found
        if kind == "alloca":
            return None
        if kind == "param" and not _is_local(value):
            return "memory" if which in written else None
        return (kind, which) if _is_local(value) else None

    def find(segments: Iterable[Segment]) -> _Accesses:
        found = _Accesses()
        for instr in (i for segment in segments for i in segment.instrs if touches_memory(i)):
            reads = is_plain_load(instr) or builtin_of(instr).image == "read"
            for value in address_operands(instr):
                if (thing := shared_object(value)) is not None:
                    (found.read if reads else found.written).add(thing)
        return found

    return find


def _is_local(value: ir.Value) -> bool:
    type = ir.type_of(value)
    return isinstance(type, ir.Pointer) and type.space == ir.LOCAL
