"""How long instructions wait for one another, by segments: each counts what it adds to the longest chain of those before it.

Chains go through the branches of an iteration: a device issues guarded reads one behind the other, and waits for all once. Reads
that need no other's result wait together, up to IN_FLIGHT of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field

from ...ir import ir
from ...ir.cfg import reverse_postorder
from ...records import dataclass
from ..analysis.data_chains import computes_floats, count_fetches, find_fused
from ..analysis.segments import Segment

IN_FLIGHT = 8
"""Reads that a work-item issues before it waits for them: as many as Mesa's compiler lets be outstanding, since the queue of
reads stalls beyond (should_defer in src/freedreno/ir3/ir3_sched.c)."""

Levels = tuple[int, ...]
"""Reads that wait for no other, for one other, for two that follow each other, and so on."""


@dataclass
class Chains:
    """Operations on floats that wait for one another, and waits for reads of memory, that each segment adds, by its number."""

    operations: dict[int, int] = field(default_factory=dict)
    reads: dict[int, int] = field(default_factory=dict)


def spread_chains(function: ir.Function, segments: Sequence[Segment], loop_of: Mapping[ir.Block, int]) -> Chains:
    """Returns the chains of a kernel. loop_of: the number of the innermost loop of each block. A new chain begins where a loop
    begins or ends, and at a barrier."""
    of_block: dict[int, list[Segment]] = {}
    for segment in segments:
        of_block.setdefault(id(segment.block), []).append(segment)
    walk = _Walk(loop_of)
    for block in reverse_postorder(function.blocks[0]):
        for segment in of_block[id(block)]:
            walk.visit(segment)
    return walk.chains


@dataclass
class _Walk:
    """Segments in their order. group: the chain that a value or a segment belongs to; reached: group, longest chain of
    operations and reads by level behind the last segment of each block; depths: group, operations and levels up to each value."""

    loop_of: Mapping[ir.Block, int]
    chains: Chains = field(default_factory=Chains)
    reached: dict[int, tuple[int, int, Levels]] = field(default_factory=dict)
    depths: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    sources: dict[int, list[ir.Block]] = field(default_factory=dict)

    def visit(self, segment: Segment) -> None:
        block, number = segment.block, segment.number
        group, operations, before = self._begin(segment) if segment.start == 0 else (number, 0, ())
        instrs = [*segment.instrs, *([segment.sync.instr] if segment.sync is not None else [])]
        fused = find_fused(instrs)
        most_operations, reads = operations, list(before)
        for instr in instrs:
            known = [self.depths[id(operand)] for operand in instr.operands if id(operand) in self.depths]
            own = [depth for depth in known if depth[0] == group]
            chain = max((depth[1] for depth in own), default=0) + (computes_floats(instr) and id(instr) not in fused)
            level = max((depth[2] for depth in own), default=0)
            if fetched := count_fetches(instr):
                reads += [0] * (level + 1 - len(reads))
                reads[level] += fetched
                level += 1
            self.depths[id(instr)] = group, chain, level
            most_operations = max(most_operations, chain)
        self.chains.operations[number] = most_operations - operations
        self.chains.reads[number] = _count_waits(reads) - _count_waits(before)
        self.reached[id(block)] = group, most_operations, tuple(reads)
        for successor in block.successors:
            self.sources.setdefault(id(successor), []).append(block)

    def _begin(self, segment: Segment) -> tuple[int, int, Levels]:
        """The group that the first segment of a block goes on with, its longest chain, and the most reads of each level; a new
        group where the blocks before it are of other loops, or of several groups."""
        before = self.sources.get(id(segment.block), [])
        loop = self.loop_of.get(segment.block)
        found = [self.reached[id(block)] for block in before]
        groups = {group for group, _, _ in found}
        if len(groups) != 1 or any(self.loop_of.get(block) != loop for block in before):
            return segment.number, 0, ()
        most = (max(counts) for counts in itertools.zip_longest(*(reads for _, _, reads in found), fillvalue=0))
        return groups.pop(), max(chain for _, chain, _ in found), tuple(most)


def _count_waits(reads: Sequence[int]) -> int:
    """Returns how often a work-item waits for reads, by levels."""
    return sum(-(-count // IN_FLIGHT) for count in reads)
