"""How long instructions wait for one another, by segments: each counts what it adds to the longest chain of those before it.

Chains go through the branches of an iteration: a device issues guarded reads one behind the other, and waits for all once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...ir import ir
from ...ir.cfg import reverse_postorder
from ..analysis.data_chains import computes_floats, fetches, find_fused
from ..analysis.segments import Segment


@dataclass
class Chains:
    """Operations on floats and reads of memory that wait for one another, that each segment adds, by its number."""

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
    """Segments in their order. group: the chain that a value or a segment belongs to; reached: group and longest chains behind
    the last segment of each block; depths: group and chains up to each value."""

    loop_of: Mapping[ir.Block, int]
    chains: Chains = field(default_factory=Chains)
    reached: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    depths: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    sources: dict[int, list[ir.Block]] = field(default_factory=dict)

    def visit(self, segment: Segment) -> None:
        block, number = segment.block, segment.number
        group, operations, reads = self._begin(segment) if segment.start == 0 else (number, 0, 0)
        instrs = [*segment.instrs, *([segment.sync.instr] if segment.sync is not None else [])]
        fused = find_fused(instrs)
        most_operations, most_reads = operations, reads
        for instr in instrs:
            before = [self.depths[id(operand)] for operand in instr.operands if id(operand) in self.depths]
            own = [depth for depth in before if depth[0] == group]
            chain = max((depth[1] for depth in own), default=0) + (computes_floats(instr) and id(instr) not in fused)
            wait = max((depth[2] for depth in own), default=0) + fetches(instr)
            self.depths[id(instr)] = group, chain, wait
            most_operations, most_reads = max(most_operations, chain), max(most_reads, wait)
        self.chains.operations[number] = most_operations - operations
        self.chains.reads[number] = most_reads - reads
        self.reached[id(block)] = group, most_operations, most_reads
        for successor in block.successors:
            self.sources.setdefault(id(successor), []).append(block)

    def _begin(self, segment: Segment) -> tuple[int, int, int]:
        """The group that the first segment of a block goes on with, and its longest chains; a new one where the blocks before it
        are of other loops, or of several groups."""
        before = self.sources.get(id(segment.block), [])
        loop = self.loop_of.get(segment.block)
        found = [self.reached[id(block)] for block in before]
        groups = {group for group, _, _ in found}
        if len(groups) != 1 or any(self.loop_of.get(block) != loop for block in before):
            return segment.number, 0, 0
        return groups.pop(), max(chain for _, chain, _ in found), max(wait for _, _, wait in found)
