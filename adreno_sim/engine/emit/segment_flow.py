"""Emits segments of kernel IR for one work-item, or for a call of a library function: phis, instructions and terminators."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir import ir, llvm_types
from ...ir.unsupported import unsupported
from ..analysis.segments import Segment
from ..llvm.text import Phi
from .emitter import INSTRUCTIONS, Emitter


class SegmentFlow:
    """The segments of one function, whose edges are known when all of them are emitted."""

    def __init__(self, e: Emitter):
        self._e = e
        self._phis: dict[int, list[Phi]] = {}  # the parts of each phi
        self._edges: dict[int, list[tuple[str, list[str]]]] = {}

    def emit(self, order: list[Segment], polled: set[tuple[Segment, Segment]]) -> None:
        """Emits segments. `polled`: the edges along which the stop flag is checked."""
        for segment in order:
            self._emit_segment(segment, polled)
        self._e.hooks.on_end()
        for number, phis in self._phis.items():
            complete_phis(phis, self._edges[number])

    def _emit_segment(self, segment: Segment, polled: set[tuple[Segment, Segment]]) -> None:
        e = self._e
        e.body.block(segment.label)
        phis = segment.start == 0
        for instr in segment.instrs:
            if phis and instr.op != "phi":
                self._store_phis(segment)
                phis = False
            e.loc, e.current = instr.loc, instr
            e.hooks.before_instr(instr)
            e.count_access(instr)
            self._emit_instruction(instr)
        if phis:
            self._store_phis(segment)
        if segment.sync is not None:
            e.loc = segment.sync.instr.loc
            e.hooks.before_instr(segment.sync.instr)
            e.leave_at_sync(segment)
        else:
            self._emit_terminator(segment, polled)

    def _emit_instruction(self, instr: ir.Instr) -> None:
        if instr.op in ir.TERMINATORS:
            return
        if instr.op == "phi":
            self._open_phi(instr)
            return
        emitter = INSTRUCTIONS.get(instr.op)
        if emitter is None:
            raise unsupported(f"instruction {instr.op}", instr.loc)
        emitter(self._e, instr)

    def _open_phi(self, instr: ir.Instr) -> None:
        self._phis[id(instr)] = [self._e.body.open_phi(type) for type in self._e.part_types(instr)]
        if id(instr) not in self._e.slots:  # nothing may stand between phis: slots are written behind the last
            self._e.define_parts(instr, [part.name for part in self._phis[id(instr)]])

    def _store_phis(self, segment: Segment) -> None:
        """Stores the phis that have stack slots, after the last phi of the block."""
        for phi in segment.block.phis:
            if id(phi) in self._e.slots:
                self._e.define_parts(phi, [part.name for part in self._phis[id(phi)]])

    def _emit_terminator(self, segment: Segment, polled: set[tuple[Segment, Segment]]) -> None:
        e, last = self._e, segment.block.instrs[-1]
        e.loc = last.loc
        if last.op in ("ret", "unreachable"):
            e.leave(e.value(last.operands[0]) if last.operands else None)
            return
        if any((segment, s) in polled for s in segment.successors):
            e.poll(last.loc)
        self._feed_phis(segment)
        emit_branch(e, last, [s.label for s in segment.successors])

    def _feed_phis(self, segment: Segment) -> None:
        phis = [phi for successor in segment.successors for phi in successor.block.phis]
        edges = [(phi, self._e.parts(phi.incoming(segment.block), like=phi)) for phi in phis]
        for phi, parts in edges:  # the label only now: loading parts may have begun a block
            self._edges.setdefault(id(phi), []).append((self._e.body.label, parts))


def emit_branch(e: Emitter, last: ir.Instr, labels: list[str]) -> None:
    """Emits the branch `last` to `labels`, which stand for its targets."""
    if last.op == "br":
        e.body.jump(labels[0])
    elif last.op == "condbr":
        e.body.branch(e.value(last.operands[0]), labels[0], labels[1])
    else:
        type = llvm_types.spell(last.operands[0].type)
        cases = " ".join(f"{type} {c}, label %{label}" for c, label in zip(last.cases, labels[1:], strict=True))
        e.body.do(f"switch {type} {e.value(last.operands[0])}, label %{labels[0]} [ {cases} ]")


def complete_phis(phis: list[Phi], edges: Iterable[tuple[str, list[str]]]) -> None:
    """Adds edges to the parts of a phi: each is a label and the operands that come from there, one a part."""
    for label, operands in edges:
        for phi, operand in zip(phis, operands, strict=True):
            phi.add((operand, label))
