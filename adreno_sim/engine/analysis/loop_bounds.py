"""Proves which loops end after few iterations, so that they need no watchdog poll."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ...base.integers.interval import Interval, signed_range
from ...ir import ir
from ...ir.cfg import predecessors, reverse_postorder
from ...ir.induction_variables import InductionVariable, find_induction_variable, signed, signed_constant
from ...ir.loops import back_edges, loop_body
from ...records import dataclass
from .failures import attempt
from .interval_rules import bits_of, find_interval
from .path_conditions import INVERSE
from .segments import Graph, ScopeOf, Segment

SHORT = 1 << 22
"""The most iterations, those of counted inner loops included, that may run between two watchdog polls."""

CountTrips = Callable[[Segment, set[Segment]], "int | None"]

_UPWARD = {"slt", "sle", "ult", "ule"}
_DOWNWARD = {"sgt", "sge", "ugt", "uge"}
_DEEPEST = 6
"""Operations between a bound and what bounds it that are looked through."""


def needs_no_watchdog(function: ir.Function, ends_soon: bool = False) -> bool:
    """Returns True if every loop of `function` has a small static trip count, loops with barriers included; or if it is proven of
    the launch that it ends soon (`Proofs.ends_soon`)."""
    return ends_soon or has_short_loops(function, trip_count, SHORT)


def has_short_loops(function: ir.Function, count: CountTrips, most: int) -> bool:
    """Returns True if no loop of `function` has more than `most` iterations, those of inner loops included, as far as `count`
    bounds them: it gets a loop's header and body, and returns None if it does not know."""
    return not _long_edges(reverse_postorder(Graph(function, ScopeOf()).entry), count, most)


def polled_edges(order: list[Segment]) -> set[tuple[Segment, Segment]]:
    """Returns the back edges on which the machine code must poll the stop flag, as far as the text tells."""
    return _long_edges(order, trip_count, SHORT)


def _long_edges(order: list[Segment], count: CountTrips, most: int) -> set[tuple[Segment, Segment]]:
    """Returns the back edges of loops that may have more than `most` iterations; all of them if finding out fails."""
    edges = back_edges(order)
    return attempt("lengths of loops", lambda: _find_long(order, edges, count, most), set(edges))


def _find_long(
    order: list[Segment], edges: Collection[tuple[Segment, Segment]], count: CountTrips, most: int
) -> set[tuple[Segment, Segment]]:
    bodies = find_loop_bodies(order, edges)
    trips = {head: count(head, body) for head, body in bodies.items()}
    return {(tail, head) for tail, head in edges if not _is_short(head, bodies, trips, most)}


def find_loop_bodies(order: list[Segment], edges: Collection[tuple[Segment, Segment]]) -> dict[Segment, set[Segment]]:
    """Returns the segments of each loop by its header; `edges` are the back edges."""
    sources = predecessors(order)
    bodies: dict[Segment, set[Segment]] = {}
    for tail, head in edges:
        bodies.setdefault(head, {head}).update(loop_body(sources, tail, head))
    return bodies


def _is_short(head: Segment, bodies: dict[Segment, set[Segment]], trips: dict[Segment, int | None], most: int) -> bool:
    total = trips[head]
    if total is None:
        return False
    for other in bodies[head]:
        if other is not head:
            total *= max(trips.get(other) or 1, 1)  # one of unknown length checks the flag itself
    return total <= most


@dataclass(frozen=True)
class Counter:
    """What ends a loop: `phi` begins at `start`, is `next` after each iteration, `step` more, and the loop goes on while `phi`
    `stays` `bound` (a predicate of icmp)."""

    phi: ir.Instr
    start: ir.Value
    next: ir.Value
    step: int
    bound: ir.Value
    stays: str


def find_counter(
    head: Segment, body: set[Segment], is_invariant: Callable[[ir.Instr], bool] = lambda bound: False
) -> Counter | None:
    """Returns the counter that the test in the loop header bounds. is_invariant: whether a bound that the loop computes is the
    same in every iteration."""
    blocks = {id(s.block) for s in body}
    last = head.block.instrs[-1]
    if last.op != "condbr" or head.sync is not None or all(s in body for s in head.successors):
        return None
    test = last.operands[0]
    if not isinstance(test, ir.Instr) or test.op != "icmp":
        return None
    stays = test.pred if head.successors[0] in body else INVERSE[test.pred]
    value, bound = test.operands
    found = _find_induction_variable(head, value, blocks)
    if found is None or found.phi is not value or not _ends(found.step, stays):
        return None
    if isinstance(bound, ir.Instr) and any(bound is i for s in body for i in s.instrs) and not is_invariant(bound):
        return None
    return Counter(found.phi, found.starts[0], found.nexts[0], found.step, bound, stays)


def _ends(step: int, stays: str) -> bool:
    """Returns whether steps lead to where a comparison with a bound no longer holds."""
    return (stays in _UPWARD and step > 0) or (stays in _DOWNWARD and step < 0)


def trip_count(head: Segment, body: set[Segment]) -> int | None:
    """Returns an upper bound of the iterations of a loop, not above SHORT, as the text alone tells it; None if it tells none."""
    blocks = {id(s.block) for s in body}
    for segment in body:
        if not any(s not in body for s in segment.successors):
            continue
        count = _counted_exit(head, segment, body, blocks)
        if count is not None and count <= SHORT:
            return count
    return None


def _counted_exit(head: Segment, exit: Segment, body: set[Segment], blocks: set[int]) -> int | None:
    # Only an exit that every iteration passes bounds the loop: the header's own, or the one before the back edge.
    last = exit.block.instrs[-1]
    passes = exit is head or (exit.successors.count(head) == 1 and sum(head in s.successors for s in body) == 1)
    if not passes or last.op != "condbr" or exit.sync is not None:
        return None
    test = last.operands[0]
    if not isinstance(test, ir.Instr) or test.op != "icmp":
        return None
    stays = test.pred if exit.successors[0] in body else INVERSE[test.pred]
    value, bound = test.operands
    iterations = _halving_iterations(head, value, bound, blocks, stays)
    if iterations is not None:
        return iterations
    counter = _find_induction_variable(head, value, blocks)
    if counter is None:
        return None
    (start,) = counter.starts
    run = _longest_run(start, bound, stays)
    if run is None:
        return None
    if not isinstance(start, ir.Const) and not (exit is head and value is counter.phi):
        return None  # a step before the first test could wrap
    return _iterations(run[0], counter.step, run[1], stays, bits_of(counter.phi.type))


def _longest_run(start: ir.Value, bound: ir.Value, stays: str) -> tuple[int, int] | None:
    """Returns numbers (start, bound) between which a counter takes at least as many steps as from `start` to `bound`; None if
    there are none."""
    first, last = _interval_by_text(start), _interval_by_text(bound)
    if stays in ("eq", "ne"):
        return (first.low, last.low) if first.low == first.high and last.low == last.high else None
    if stays[0] == "u":
        first, last = (known.as_unsigned(bits_of(start.type)) for known in (first, last))
    return (first.low, last.high) if stays in _UPWARD else (first.high, last.low)


def _interval_by_text(value: ir.Value, depth: int = 0) -> Interval:
    """Returns the interval of an integer as the text alone bounds it: constants, local ids, and what is computed from them."""
    number = signed_constant(value)
    if number is not None:
        return Interval.exactly(number)
    whole = signed_range(bits_of(value.type))
    if not isinstance(value, ir.Instr) or depth == _DEEPEST:
        return whole
    if value.callee is not None and value.callee.name == "get_local_id":
        return Interval(0, signed_range(32).high)
    return find_interval(value, lambda operand: _interval_by_text(operand, depth + 1)) or whole


def _find_induction_variable(head: Segment, value: ir.Value, blocks: set[int]) -> InductionVariable | None:
    """Returns the induction variable, with one start and one back edge, that `value` is, or is one step ahead of; else None."""
    for phi in head.block.phis:
        if isinstance(phi.type, ir.Int) and any(value is known for known in (phi, *phi.operands)):
            found = find_induction_variable(phi, lambda block: id(block) in blocks)
            if found and len(found.starts) == len(found.nexts) == 1 and (value is phi or value is found.nexts[0]):
                return found
    return None


def _halving_iterations(head: Segment, value: ir.Value, bound: ir.Value, blocks: set[int], stays: str) -> int | None:
    """Returns a bound of the iterations of a loop that shifts or divides a variable until nothing is left; else None. `value`
    is that variable, before or after the operation."""
    if not isinstance(bound, ir.Const) or not isinstance(bound.value, int):
        return None
    for phi in head.block.instrs:
        if phi.op != "phi":
            return None
        inside = [v for v, b in zip(phi.operands, phi.blocks, strict=True) if id(b) in blocks]
        if len(inside) != 1 or not isinstance(phi.type, ir.Int) or (value is not phi and value is not inside[0]):
            continue
        rests = _limits_of_halving(inside[0], phi)
        if rests and not any(_compare(stays, rest, bound.value, phi.type.bits) for rest in rests):
            return phi.type.bits + 2
    return None


def _limits_of_halving(value: ir.Value, phi: ir.Instr) -> tuple[int, ...]:
    """Returns the values that `phi` can end at if `value` replaces it again and again; () if that does not end."""
    if not isinstance(value, ir.Instr) or len(value.operands) != 2 or value.operands[0] is not phi:
        return ()
    amount = value.operands[1]
    if not (isinstance(amount, ir.Const) and isinstance(amount.value, int) and isinstance(phi.type, ir.Int)):
        return ()
    if value.op in ("lshr", "ashr") and 1 <= amount.value < phi.type.bits:
        return (0,) if value.op == "lshr" else (0, -1)
    divided = value.op == "udiv" or (value.op == "sdiv" and signed(amount.value, phi.type.bits) > 0)
    return (0,) if divided and amount.value >= 2 else ()


def _compare(pred: str, left: int, right: int, bits: int) -> bool:
    """Evaluates a comparison of two constants."""
    mask = (1 << bits) - 1
    a, b = (signed(left, bits), signed(right, bits)) if pred[0] == "s" else (left & mask, right & mask)
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[pred.lstrip("su")]


def _iterations(start: int, step: int, bound: int, stays: str, bits: int) -> int | None:
    """Returns an upper bound of the iterations of `for (i = start; i <stays> bound; i += step)`; None if it may not end."""
    if stays[0] == "s" or stays == "ne":
        start, bound = signed(start, bits), signed(bound, bits)
    distance = bound - start
    if stays == "ne":
        ends = step != 0 and distance % step == 0 and distance // step >= 1
        return distance // step + 1 if ends else None
    if _ends(step, stays):
        if abs(bound) > (1 << (bits - 2)) or abs(step) > (1 << (bits - 3)):
            return None  # could step over the end of the type and go on
        if stays[0] == "u" and step < 0 and bound + (stays == "ugt") < -step:
            return None  # could pass below zero, which is above every bound
        return max(0, distance // step) + 2
    return None
