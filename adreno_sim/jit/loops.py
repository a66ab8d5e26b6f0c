"""Which loops are finite for certain and short enough to need no watchdog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..clc import ir
from .cfg import Segment, back_edges

_SHORT = 1 << 22
"""Iterations (of a loop with all counted loops inside it) that may run between two looks at the watchdog."""

_GREW = {"slt", "sle", "ult", "ule"}
_SHRANK = {"sgt", "sge", "ugt", "uge"}
_INVERSE = {"slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle", "ult": "uge", "uge": "ult", "ule": "ugt", "ugt": "ule",
            "eq": "ne", "ne": "eq"}  # fmt: skip


def polled_edges(order: list[Segment]) -> set[tuple[Segment, Segment]]:
    """Back edges on which the machine code must look at the stop flag."""
    edges = back_edges(order)
    predecessors: dict[Segment, list[Segment]] = {}
    for segment in order:
        for successor in segment.successors:
            predecessors.setdefault(successor, []).append(segment)
    bodies: dict[Segment, set[Segment]] = {}
    for tail, head in edges:
        bodies.setdefault(head, {head}).update(_body(tail, head, predecessors))
    trips = {head: trip_count(head, body) for head, body in bodies.items()}
    return {(tail, head) for tail, head in edges if not _short(head, bodies, trips)}


def _body(tail: Segment, head: Segment, predecessors: dict[Segment, list[Segment]]) -> set[Segment]:
    body, work = {head}, [tail]
    while work:
        segment = work.pop()
        if segment not in body:
            body.add(segment)
            work += predecessors.get(segment, [])
    return body


def _short(head: Segment, bodies: dict[Segment, set[Segment]], trips: dict[Segment, int | None]) -> bool:
    total = trips[head]
    if total is None:
        return False
    for other in bodies[head]:
        if other is not head:
            total *= max(trips.get(other) or 1, 1)  # one of unknown length looks at the flag itself
    return total <= _SHORT


def counted_exits(head: Segment, order: list[Segment]) -> Iterator[tuple[ir.Instr, ir.Value, str, int]]:
    """Counters that the test in the loop's own header bounds: phi, bound, the comparison under which the loop goes on, step."""
    predecessors: dict[Segment, list[Segment]] = {}
    for segment in order:
        for successor in segment.successors:
            predecessors.setdefault(successor, []).append(segment)
    body: set[Segment] = set()
    for tail, target in back_edges(order):
        if target is head:
            body |= _body(tail, head, predecessors)
    blocks = {id(s.block) for s in body}
    last = head.block.instrs[-1]
    if last.op != "condbr" or head.split is not None or all(s in body for s in head.successors):
        return
    test = last.operands[0]
    if not isinstance(test, ir.Instr) or test.op != "icmp":
        return
    stays = test.pred if head.successors[0] in body else _INVERSE[test.pred]
    counter = _counter(head, test.operands[0], blocks)
    if counter is None or counter.phi is not test.operands[0]:
        return
    if (stays in _GREW and counter.step > 0) or (stays in _SHRANK and counter.step < 0):
        bound = test.operands[1]
        if isinstance(bound, ir.Const) or not any(bound is i for s in body for i in s.instrs):
            yield counter.phi, bound, stays, counter.step


def trip_count(head: Segment, body: set[Segment]) -> int | None:
    """Iterations of a loop counted from a constant by a constant to a constant; None if it is not of that form."""
    blocks = {id(s.block) for s in body}
    for segment in body:
        if not any(s not in body for s in segment.successors):
            continue
        count = _counted_exit(head, segment, body, blocks)
        if count is not None:
            return count
    return None


def _counted_exit(head: Segment, exit: Segment, body: set[Segment], blocks: set[int]) -> int | None:
    # Only an exit that every iteration passes bounds the loop: the header's own, or the one before the back edge.
    last = exit.block.instrs[-1]
    passes = exit is head or (exit.successors.count(head) == 1 and sum(head in s.successors for s in body) == 1)
    if not passes or last.op != "condbr" or exit.split is not None:
        return None
    test = last.operands[0]
    if not isinstance(test, ir.Instr) or test.op != "icmp" or not isinstance(test.operands[1], ir.Const):
        return None
    stays = test.pred if exit.successors[0] in body else _INVERSE[test.pred]
    counter = _counter(head, test.operands[0], blocks)
    bound = test.operands[1].value
    if counter is None or not isinstance(bound, int) or not isinstance(counter.start, ir.Const):
        return None
    if not isinstance(counter.start.value, int) or not isinstance(counter.phi.type, ir.Int):
        return None
    return _iterations(counter.start.value, counter.step, bound, stays, counter.phi.type.bits)


@dataclass(frozen=True)
class _Counter:
    """An induction variable: `phi` begins at `start` and grows by the constant `step`."""

    phi: ir.Instr
    start: ir.Value
    step: int


def _counter(head: Segment, value: ir.Value, blocks: set[int]) -> _Counter | None:
    """The induction variable that `value` is, or is one step ahead of; None if it is none."""
    for phi in head.block.instrs:
        if phi.op != "phi":
            return None
        inside = [v for v, b in zip(phi.operands, phi.blocks, strict=True) if id(b) in blocks]
        outside = [v for v, b in zip(phi.operands, phi.blocks, strict=True) if id(b) not in blocks]
        if len(inside) != 1 or len(outside) != 1 or not isinstance(phi.type, ir.Int):
            continue
        step = inside[0]
        if value is not phi and value is not step:
            continue
        amount = step_of(step, phi)
        if amount is not None:
            return _Counter(phi, outside[0], amount)
    return None


def step_of(value: ir.Value, phi: ir.Instr) -> int | None:
    """By how much `value` is more than `phi`, where it is `phi` plus or minus a constant."""
    if not isinstance(value, ir.Instr) or value.op not in ("add", "sub") or value.operands[0] is not phi:
        return None
    amount = value.operands[1]
    if not (isinstance(amount, ir.Const) and isinstance(amount.value, int) and isinstance(phi.type, ir.Int)):
        return None
    number = signed(amount.value, phi.type.bits)
    return number if value.op == "add" else -number


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _iterations(start: int, step: int, bound: int, stays: str, bits: int) -> int | None:
    """Upper bound on the iterations of `for (i = start; i <stays> bound; i += step)`; None if it may not end."""
    if stays[0] == "s" or stays == "ne":
        start, bound = signed(start, bits), signed(bound, bits)
    distance = bound - start
    if stays == "ne":
        ends = step != 0 and distance % step == 0 and distance // step >= 1
        return distance // step + 1 if ends else None
    if (stays in _GREW and step > 0) or (stays in _SHRANK and step < 0):
        if abs(bound) > (1 << (bits - 2)) or abs(step) > (1 << (bits - 3)):
            return None  # could step over the end of the type and go on
        if stays[0] == "u" and step < 0 and bound + (stays == "ugt") < -step:
            return None  # could pass below zero, which is above every bound
        return max(0, distance // step) + 2
    return None
