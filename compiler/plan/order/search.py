"""The order of steps with the lowest peak of live bytes: a beam search, and an exact one that is given up after a while."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from ....records import dataclass
from .graph import StepGraph

EXACT_STATES = 5_000
"""Sets of done steps that the exact search of one part goes on from at most."""

BEAM = 48
"""Sets of done steps of equal number that the inexact search keeps."""

BEAM_WORK = 3_000_000
"""Of the beam's steps times its width: long parts get a narrower beam."""


@dataclass(frozen=True)
class Order:
    """Steps in an order that respects what they need. peak: bytes live at most. proved: no order has a lower peak."""

    steps: tuple[int, ...]
    peak: int
    proved: bool


def lowest_order(graph: StepGraph, states: int = EXACT_STATES) -> Order:
    """An order whose peak is at most that of the given order, the same every time.

    The graph is cut at steps that every order has in one place, and each part is searched alone: by a beam, then
    exactly, over at most `states` sets of steps that may be done, those with the lowest peak first.
    """
    given = tuple(range(len(graph)))
    bits = _Bits(graph)
    found: list[int] = []
    proved = True
    for part in bits.cut():
        order, exact = _search_part(bits, part, states)
        proved &= exact
        found += order
    steps, peak = tuple(found), graph.peak(found)
    before = graph.peak(given)
    if peak >= before:
        return Order(given, before, proved or before <= _least(graph))
    return Order(steps, peak, proved or peak <= _least(graph))


def _least(graph: StepGraph) -> int:
    """Bytes that no order can do without: of one step's tensors."""
    return max((sum(graph.sizes[tensor] for tensor in used) for used in graph.uses), default=0)


@dataclass(frozen=True)
class _State:
    """Steps that are done, as bits; bytes live after them; the most that were live on the way; the steps that may be next."""

    done: int
    live: int
    peak: int
    ready: tuple[int, ...]


class _Bits:
    """A graph with sets of steps as bits of an integer."""

    def __init__(self, graph: StepGraph):
        self.graph = graph
        self.needs = [_bits(steps) for steps in graph.needs]
        self.next: list[list[int]] = [[] for _ in graph.needs]
        self.users = [0] * len(graph.sizes)
        before = [0] * len(graph)
        for step, needed in enumerate(graph.needs):
            for tensor in graph.uses[step]:
                self.users[tensor] |= 1 << step
            for other in sorted(needed):
                self.next[other].append(step)
                before[step] |= before[other] | 1 << other
        after = [0] * len(graph)
        for step in reversed(range(len(graph))):
            for other in graph.needs[step]:
                after[other] |= after[step] | 1 << step
        self.alone = [
            before[step].bit_count() == step and after[step].bit_count() == len(graph) - 1 - step for step in range(len(graph))
        ]

    def cut(self) -> Iterator[list[int]]:
        """The parts between steps that every order has in one place, each with the step that ends it."""
        part: list[int] = []
        for step, alone in enumerate(self.alone):
            part.append(step)
            if alone:
                yield part
                part = []
        if part:
            yield part

    def start(self, part: Sequence[int]) -> _State:
        """Before the first step of a part."""
        done = (1 << part[0]) - 1
        tensors = zip(self.graph.sizes, self.users, strict=True)
        live = sum(size for size, users in tensors if users & done and users & ~done)
        return _State(done, live, live, tuple(step for step in part if not self.needs[step] & ~done))

    def effect(self, state: _State, step: int) -> tuple[int, int]:
        """Bytes of the tensors that begin with `step` after `state`, and of those that end with it."""
        made = freed = 0
        after = state.done | 1 << step
        for tensor in self.graph.uses[step]:
            users, size = self.users[tensor], self.graph.sizes[tensor]
            made += 0 if users & state.done else size
            freed += 0 if users & ~after else size
        return made, freed

    def advance(self, state: _State, step: int, within: int) -> _State:
        """After one step more; `within`: the steps of the part."""
        made, freed = self.effect(state, step)
        done = state.done | 1 << step
        opened = [other for other in self.next[step] if within >> other & 1 and not self.needs[other] & ~done]
        ready = tuple(sorted({*state.ready, *opened} - {step}))
        return _State(done, state.live + made - freed, max(state.peak, state.live + made), ready)

    def settle(self, state: _State, within: int, floor: int) -> tuple[_State, list[int]]:
        """After all steps that never hurt: under the peak so far each makes no more than it frees, so that it may come first."""
        taken: list[int] = []
        again = True
        while again:
            again = False
            for step in state.ready:
                made, freed = self.effect(state, step)
                if made <= freed and state.live + made <= max(state.peak, floor):
                    state = self.advance(state, step, within)
                    taken.append(step)
                    again = True
                    break
        return state, taken

    def peak(self, part: Sequence[int], order: Iterable[int]) -> int:
        state, within = self.start(part), _bits(part)
        for step in order:
            state = self.advance(state, step, within)
        return state.peak


def _search_part(bits: _Bits, part: list[int], states: int) -> tuple[list[int], bool]:
    """The steps of a part in the best order found, and whether none is better."""
    width = max(4, min(BEAM, BEAM_WORK // len(part) ** 2))
    found = min((part, _search_beam(bits, part, width)), key=lambda order: bits.peak(part, order))
    return _search_exactly(bits, part, found, states)


def _floor(bits: _Bits, part: Sequence[int]) -> int:
    """Bytes that every order of the part has live at some step."""
    return max(sum(bits.graph.sizes[tensor] for tensor in bits.graph.uses[step]) for step in part)


def _search_exactly(bits: _Bits, part: list[int], found: list[int], states: int) -> tuple[list[int], bool]:
    """An order with a lower peak than that of `found`, else that one; and whether there is no better one.

    Sets of done steps are taken by the peak on the way to them, so that the first complete one has the lowest; of equals those
    with more steps done come first. The search ends unproved where it has taken `states` of them.
    """
    within, floor, number = _bits(part), _floor(bits, part), count()
    most = bits.peak(part, found)
    first, taken = bits.settle(bits.start(part), within, floor)
    came: dict[int, tuple[int, list[int]]] = {first.done: (-1, taken)}
    lowest = {first.done: max(first.peak, floor)}
    queue = [(lowest[first.done], 0, next(number), first)]
    while queue and queue[0][0] < most:
        peak, left, _, state = heapq.heappop(queue)
        if peak > lowest[state.done]:
            continue
        if not state.ready:
            return _way(came, state.done), True
        if not states:
            return found, False
        states -= 1
        for step in state.ready:
            after, taken = bits.settle(bits.advance(state, step, within), within, floor)
            high = max(after.peak, floor)
            if high < lowest.get(after.done, most):
                lowest[after.done] = high
                came[after.done] = (state.done, [step, *taken])
                heapq.heappush(queue, (high, left - 1 - len(taken), next(number), after))
    return found, True


def _way(came: dict[int, tuple[int, list[int]]], done: int) -> list[int]:
    """The steps on the way to `done`, in order."""
    ways: list[list[int]] = []
    while done >= 0:
        done, steps = came[done]
        ways.append(steps)
    return [step for steps in reversed(ways) for step in steps]


def _search_beam(bits: _Bits, part: list[int], width: int) -> list[int]:
    """An order from the `width` best sets of each number of steps: lowest peak, then fewest bytes live."""
    within, floor = _bits(part), _floor(bits, part)
    first, taken = bits.settle(bits.start(part), within, floor)
    levels: dict[int, dict[int, tuple[_State, _Trail]]] = {len(taken): {first.done: (first, _Trail(None, taken))}}
    for level in range(len(part)):
        found = levels.pop(level, {})
        best = sorted(found.values(), key=lambda pair: (max(pair[0].peak, floor), pair[0].live, pair[0].done))[:width]
        for state, trail in best:
            for step in state.ready:
                after, taken = bits.settle(bits.advance(state, step, within), within, floor)
                there = levels.setdefault(level + 1 + len(taken), {})
                known = there.get(after.done)
                if known is None or after.peak < known[0].peak:
                    there[after.done] = (after, _Trail(trail, [step, *taken]))
    ((_, last),) = levels[len(part)].values()
    return last.steps()


@dataclass(frozen=True)
class _Trail:
    """Steps behind an earlier trail."""

    before: _Trail | None
    taken: list[int]

    def steps(self) -> list[int]:
        parts: list[list[int]] = []
        trail: _Trail | None = self
        while trail is not None:
            parts.append(trail.taken)
            trail = trail.before
        return [step for part in reversed(parts) for step in part]


def _bits(steps: Iterable[int]) -> int:
    found = 0
    for step in steps:
        found |= 1 << step
    return found
